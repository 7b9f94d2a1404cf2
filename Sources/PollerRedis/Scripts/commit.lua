#!lua flags=allow-oom
-- Records what came of leases, each only while it is held.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     owner, then for each lease ten values: id, token, verdict (next|close|rest), wait ms
--          or reason, state (packed), error or '', lane hold ms or 0, event seq or 0, event JSON
--          or '', and the channel to publish it on or ''
-- RETURNS  for each lease 1 (recorded, now or before) or 0 (LEASELOST: nothing written)
-- ERRORS   BADSEQ: an event does not follow the last one; nothing of the batch is written then
-- COST     one HMGET, one HSET and one ZADD for an unchanged item; lanes once for the batch
local FIELDS = 10
local owner, now = ARGV[1], clock()
local before = head_of_partition()

local results, held = {}, {}
for at = 2, #ARGV, FIELDS do
  local w = redis.call('HMGET', key('w', ARGV[at]), 'g', 'o', 'l', 'q', 'k', 'y', 'x')
  local result = 0
  if w[1] == ARGV[at + 1] then
    if w[2] == owner then
      local seq = tonumber(ARGV[at + 7])
      if seq > 0 and seq ~= tonumber(w[4] or 0) + 1 then
        return redis.error_reply('BADSEQ ' .. ARGV[at] .. ' has ' .. (w[4] or 0) .. ' events')
      end
      held[at] = w
      result = 1
    elseif w[2] == '' then
      -- The token is ours and nobody holds it: an earlier try of this commit got through.
      result = 1
    end
  end
  results[#results + 1] = result
end

local told, done, slots, holds = false, {}, {}, {}
for at = 2, #ARGV, FIELDS do
  local w = held[at]
  if w then
    local id, lane, verdict, wait = ARGV[at], w[3], ARGV[at + 2], ARGV[at + 3]
    -- Joined during the lease with a later deadline: the old one closes nothing. Look again.
    local prolonged = verdict == 'close' and wait == 'expired' and w[5] and tonumber(w[7] or 0) > now
    if prolonged then verdict, wait = 'next', '0' end
    if ARGV[at + 8] ~= '' and not prolonged then
      record(id, ARGV[at + 7], ARGV[at + 8], ARGV[at + 9])
      told = true
    end
    local due
    if verdict == 'next' then
      due = w[5] and now or now + tonumber(wait)
    elseif verdict == 'rest' and w[5] then
      due = now
    end
    if due then
      redis.call('HSET', key('w', id), 'o', '', 'v', ARGV[at + 4])
      redis.call('ZADD', key('z', lane), int(due), id)
    else
      redis.call('HSET', key('w', id), 'o', '', 'v', ARGV[at + 4],
        'c', verdict == 'close' and wait or 'settled')
      redis.call('ZADD', key('h'), int(now), id)
    end
    if w[5] then redis.call('HDEL', key('w', id), 'k') end
    -- `y` says that an error is kept among the long values, so that the good path never asks.
    if ARGV[at + 5] ~= '' then
      redis.call('HSET', key('o', id), 'y', ARGV[at + 5])
      if not w[6] then redis.call('HSET', key('w', id), 'y', 1) end
    elseif w[6] then
      redis.call('HDEL', key('o', id), 'y')
      redis.call('HDEL', key('w', id), 'y')
    end
    local hold = tonumber(ARGV[at + 6])
    if hold > 0 then holds[lane] = math.max(holds[lane] or 0, now + hold) end
    slots[lane] = (slots[lane] or 0) + 1
    done[#done + 1] = id
  end
end

if #done > 0 then redis.call('ZREM', key('r'), unpack(done)) end
for lane, count in pairs(slots) do
  give_back(lane, count)
  if holds[lane] then
    local held_until = tonumber(redis.call('HGET', key('c', lane), 'u') or 0)
    if holds[lane] > held_until then redis.call('HSET', key('c', lane), 'u', int(holds[lane])) end
  end
  rescore(lane)
end
if told then redis.call('PUBLISH', N .. 'recorded', string.match(P, '%d+')) end
wake_if_earlier(before)
return results
