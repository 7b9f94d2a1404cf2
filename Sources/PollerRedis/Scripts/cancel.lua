#!lua flags=allow-oom
-- Closes an open item and records that; the new token makes a result in flight stale.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, seq of the event, event JSON, channel to publish it on
-- RETURNS  1, or 0 when no such item is open
-- ERRORS   BADSEQ: something was recorded meanwhile; read again and repeat
-- COST     about 10 commands
local now = clock()
local before = head_of_partition()
local id = ARGV[1]
local item = key('w', id)
local w = redis.call('HMGET', item, 's', 'c', 'o', 'l', 'q', 'g')
if not w[1] or w[2] then return 0 end
if tonumber(ARGV[2]) ~= tonumber(w[5] or 0) + 1 then
  return redis.error_reply('BADSEQ ' .. id .. ' has ' .. (w[5] or 0) .. ' events')
end
record(id, ARGV[2], ARGV[3], ARGV[4])
redis.call('HSET', item, 'o', '', 'g', int((w[6] or 0) + 1), 'c', 'cancelled')
redis.call('HDEL', item, 'k')
redis.call('ZREM', key('z', w[4]), id)
if redis.call('ZREM', key('r'), id) == 1 then give_back(w[4], 1) end
redis.call('ZADD', key('h'), int(now), id)
rescore(w[4])
redis.call('PUBLISH', N .. 'recorded', string.match(P, '%d+'))
wake_if_earlier(before)
return 1
