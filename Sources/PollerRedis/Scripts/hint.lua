#!lua flags=allow-oom
-- Makes an open item due now; one that is leased becomes due right after its commit.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id
-- RETURNS  1, or 0 when no such item is open
-- COST     three reads, four writes
local now = clock()
local before = head_of_partition()
local id = ARGV[1]
local w = redis.call('HMGET', key('w', id), 's', 'c', 'l')
if not w[1] or w[2] then return 0 end
redis.call('HSET', key('w', id), 'h', int(now))
local lease = redis.call('HGET', key('f'), id)
if lease then
  mark_lease(id, lease)
else
  make_due(id, w[3], now)
end
save_lanes(now)
wake_if_earlier(before)
return 1
