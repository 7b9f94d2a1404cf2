#!lua flags=allow-oom
-- Makes an open item due now; one that is leased becomes due right after its commit.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id
-- RETURNS  1, or 0 when no such item is open
-- COST     one HMGET, two writes
local now = clock()
local before = head_of_partition()
local item = key('w', ARGV[1])
local w = redis.call('HMGET', item, 's', 'c', 'o', 'l')
if not w[1] or w[2] then return 0 end
if w[3] and w[3] ~= '' then
  redis.call('HSET', item, 'h', int(now), 'k', 1)
else
  redis.call('HSET', item, 'h', int(now))
  redis.call('ZADD', key('z', w[4]), 'LT', int(now), ARGV[1])
  rescore(w[4])
end
wake_if_earlier(before)
return 1
