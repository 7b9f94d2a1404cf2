#!lua flags=allow-oom
-- Opens a quarantined item again, due now, with the span it had at first.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id
-- RETURNS  1, or 0 when it is not in quarantine
-- COST     about 10 commands
local now, wall = clocks()
local before = head_of_partition()
local id = ARGV[1]
local w = redis.call('HMGET', key('w', id), 'c', 'l', 'b', 'x', 'n')
if w[1] ~= 'dead' then return 0 end
local span = tonumber(w[4] or 0) - tonumber(w[3] or 0)
redis.call('HSET', key('w', id), 'b', int(wall), 'x', int(wall + span), 'n', int(w[5] + 1))
redis.call('HDEL', key('w', id), 'c', 'h', 'v', 'y', 'z', 'j', 'r')
redis.call('HDEL', key('o', id), 'y')
redis.call('ZREM', key('h'), id)
redis.call('ZREM', key('x'), id)
add_to_wheel(w[2], URGENT, { int(now), id })
save_lanes(now)
wake_if_earlier(before)
return 1
