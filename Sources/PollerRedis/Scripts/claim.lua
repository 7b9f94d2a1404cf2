#!lua flags=allow-oom
-- Takes due items under a lease, after putting back those whose lease has ended.
--
-- KEYS[1]  meta key of the partition
-- ARGV     owner, most items, lease ms, and the limit of lanes: interval µs (0: no rate),
--          burst, most in flight
-- RETURNS  {now ms, next ready ms or -1, item, item, …}; an item is {id, token, due ms, lane,
--          source, facts, state, seq, run, began ms, deadline ms, hinted ms, private part}
-- COST     one HMGET and one HSET an item; lanes at their limit are not even read: their score
--          in the ready set is in the future
local owner, limit, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local interval, burst, most = tonumber(ARGV[4]) / 1000, tonumber(ARGV[5]), tonumber(ARGV[6])
local now = clock()

-- Recovery is claiming: an expired lease goes back at its old due time, with the slot it took.
-- The new token refuses whatever its old owner still sends.
local expired = redis.call('ZRANGE', key('r'), '-inf', int(now), 'BYSCORE', 'LIMIT', 0, limit)
if #expired > 0 then
  local slots = {}
  for _, id in ipairs(expired) do
    local w = redis.call('HMGET', key('w', id), 'l', 'd', 'g')
    if w[1] then
      redis.call('HSET', key('w', id), 'o', '', 'g', int(w[3] + 1))
      redis.call('HINCRBY', key('w', id), 'z', 1)
      redis.call('ZADD', key('z', w[1]), w[2], id)
      slots[w[1]] = (slots[w[1]] or 0) + 1
    end
  end
  redis.call('ZREM', key('r'), unpack(expired))
  for lane, count in pairs(slots) do
    give_back(lane, count)
    rescore(lane)
  end
end

local reply = { int(now), '-1' }
local taken = 0
-- A score within this very millisecond is ready: its fraction only keeps the lanes' turns.
local lanes = redis.call('ZRANGE', key('a'), '-inf', '(' .. int(now + 1), 'BYSCORE', 'LIMIT', 0, 64, 'WITHSCORES')
for at = 1, #lanes, 2 do
  if taken >= limit then break end
  local lane, turn = lanes[at], math.max(tonumber(lanes[at + 1]), now) + at / 1000
  local c = redis.call('HMGET', key('c', lane), 't', 'f')
  local arrival, flying = math.max(tonumber(c[1] or 0), now), tonumber(c[2] or 0)
  -- GCRA: `arrival` is the theoretical arrival time of the next claim; it may be ahead of the
  -- clock by burst - 1 intervals.
  local tolerance = (burst - 1) * interval
  local room = math.min(limit - taken, most - flying)
  if interval > 0 then
    room = math.min(room, math.floor((now + tolerance - arrival) / interval) + 1)
  end

  local ids = {}
  if room > 0 then
    local due = redis.call('ZRANGE', key('z', lane), '-inf', int(now), 'BYSCORE', 'LIMIT', 0, room, 'WITHSCORES')
    local leases = {}
    for item = 1, #due, 2 do
      local id = due[item]
      local w = redis.call('HMGET', key('w', id), 'g', 's', 'i', 'v', 'q', 'n', 'b', 'x', 'h', 'e')
      local token = int((w[1] or 0) + 1)
      redis.call('HSET', key('w', id), 'o', owner, 'g', token, 'd', due[item + 1])
      local private = w[10] and redis.call('HGET', key('o', id), 'p') or ''
      reply[#reply + 1] = { id, token, due[item + 1], lane, w[2], w[3], w[4], w[5] or 0, w[6] or 1,
        w[7] or 0, w[8] or 0, w[9] or 0, private }
      ids[#ids + 1] = id
      leases[#leases + 1] = int(now + lease)
      leases[#leases + 1] = id
    end
    if #ids > 0 then
      redis.call('ZREM', key('z', lane), unpack(ids))
      redis.call('ZADD', key('r'), unpack(leases))
      taken = taken + #ids
    end
  end

  flying = flying + #ids
  arrival = arrival + #ids * interval
  local changes = { 't', string.format('%.3f', arrival), 'f', flying }
  if interval > 0 then
    changes[#changes + 1] = 'n'
    changes[#changes + 1] = string.format('%.3f', arrival - tolerance)
  end
  if flying >= most then
    changes[#changes + 1] = 'p'
    changes[#changes + 1] = 1
  end
  redis.call('HSET', key('c', lane), unpack(changes))
  -- Behind every lane that waits already.
  rescore(lane, turn)
end

local ready = head_of_partition()
local lease_end = tonumber(redis.call('ZRANGE', key('r'), 0, 0, 'WITHSCORES')[2] or '')
if lease_end and (not ready or lease_end < ready) then ready = lease_end end
if ready then reply[2] = int(math.floor(ready)) end
return reply
