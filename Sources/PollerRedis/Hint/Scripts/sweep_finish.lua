#!lua flags=allow-oom
-- Stores the progress of a sweep, releases it, and counts events that no webhook has delivered.
--
-- KEYS[1]  the account's sweep, as in sweep_take
-- KEYS[2]  the account's unseen events: zset id -> seen ms, at most 10,000
-- ARGV     owner, cursor, 1 when caught up, pause ms, the longest time a webhook may take ms, name of a mark before the
--          event's id, for how long events are not read again ms or '', then the ids of unseen events
-- RETURNS  missed events, or -1 when the sweep was taken over
-- COST     O(events), two writes, one for a thousand events, and one for those judged
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if redis.call('HGET', KEYS[1], SWEEP.owner) ~= ARGV[1] then return -1 end
local due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[5], 'LIMIT', 0, 500)
local missed = 0
for _, id in ipairs(due) do
  if redis.call('EXISTS', ARGV[6] .. id) == 0 then missed = missed + 1 end
end
local function int(x) return string.format('%.0f', x) end
-- In parts, because Lua's stack holds only a few thousand values; and first, because the cursor is behind these events.
for first = 8, #ARGV, 1000 do
  local new = {}
  for at = first, math.min(first + 999, #ARGV) do
    new[#new + 1] = int(now)
    new[#new + 1] = ARGV[at]
  end
  redis.call('ZADD', KEYS[2], 'NX', unpack(new))
end
redis.call('HSET', KEYS[1], SWEEP.cursor, ARGV[2], SWEEP.due, int(now + ARGV[4]), SWEEP.pause, ARGV[4])
redis.call('HDEL', KEYS[1], SWEEP.owner, SWEEP.heldUntil)
if ARGV[3] == '1' then redis.call('HSET', KEYS[1], SWEEP.caughtUp, int(now)) end
if ARGV[7] ~= '' then redis.call('HSET', KEYS[1], SWEEP.reread, int(now + ARGV[7])) end
if #due > 0 then redis.call('ZREM', KEYS[2], unpack(due)) end
if #ARGV > 7 then redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -10001) end
return missed
