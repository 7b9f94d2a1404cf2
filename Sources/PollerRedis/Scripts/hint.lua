#!lua flags=allow-oom
-- Makes an open item due now; one that is leased becomes due right after its commit. One that was
-- closed without an answer is opened again, as it was and with the span it had at first: a new run,
-- which remembers in `r` what had been recorded before it.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id
-- RETURNS  1, or 0 when no such item is open or may be opened
-- COST     three reads, four writes; to open again, eight
local now, wall = clocks()
local before = head_of_partition()
local id = ARGV[1]
local item = key('w', id)
local w = redis.call('HMGET', item, 's', 'c', 'l', 'b', 'x', 'n', 'q')
if not w[1] then return 0 end
if w[2] then
  -- See ClosedReason.swift.
  if w[2] ~= 'expired' and w[2] ~= 'gone' then return 0 end
  local span = tonumber(w[5] or 0) - tonumber(w[4] or 0)
  redis.call('HSET', item, 'b', int(wall), 'x', int(wall + span), 'n', int(w[6] + 1), 'r', w[7] or 0)
  redis.call('HDEL', item, 'c', 'y', 'j')
  redis.call('HDEL', key('o', id), 'y')
  redis.call('ZREM', key('h'), id)
end
redis.call('HSET', item, 'h', int(wall))
local lease = redis.call('HGET', key('f'), id)
if lease then
  mark_lease(id, lease)
else
  make_due(id, w[3], now)
end
save_lanes(now)
wake_if_earlier(before)
return 1
