#!lua flags=allow-oom
-- Closes an open item and records the event. The new token makes a result in flight stale.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, seq of the event, channel to publish it on, event as JSON, and packed or ''
-- RETURNS  1, or 0 when no such item is open
-- ERRORS   BADSEQ: another event was recorded meanwhile; read again and repeat
-- COST     about 20 commands
local now, wall = clocks()
local before = head_of_partition()
local id = ARGV[1]
local item = key(KEY.item, id)
local w = call('HMGET', item, ITEM.source, ITEM.closed, ITEM.lane, ITEM.seq, ITEM.token, ITEM.began)
if not w[1] or w[2] then return 0 end
if tonumber(ARGV[2]) ~= tonumber(w[4] or 0) + 1 then
  return redis.error_reply(ERROR.outOfOrder .. ' ' .. id .. ' has ' .. (w[4] or 0) .. ' events')
end
local lease = call('HGET', key(KEY.leases), id)
local token = tonumber(lease and unpack_lease(lease) or w[5] or 0)
record(id, ARGV[2], ARGV[3], ARGV, 4, 5)
call('HSET', item, ITEM.token, int(token + 1), ITEM.closed, CLOSED.cancelled)
call('ZADD', key(KEY.closed), int(wall), id)
move_created(id, w[3], w[6], true)
if lease then
  call('ZREM', key(KEY.leaseEnds), id)
  call('HDEL', key(KEY.leases), id)
  release_slots(w[3], 1)
else
  call('ZREM', key(URGENT, w[3]), id)
  call('ZREM', key(NORMAL, w[3]), id)
  rescore(lane_of(w[3]))
end
save_lanes(now)
call('PUBLISH', N .. CHANNEL.recorded, string.match(P, '%d+'))
wake_if_earlier(before)
return 1
