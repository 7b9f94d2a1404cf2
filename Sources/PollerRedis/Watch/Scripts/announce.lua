#!lua flags=allow-oom
-- Records an event of an item and changes nothing else of the item. For a closed item the event is a run of its own,
-- and the age of the item counts from now: its log is kept until the event is delivered. A lease of the item ends,
-- because its result would not follow the event, and the item is due at once. The caller must know that the event is
-- not recorded yet: the log then ends with the event before it.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, seq of the event, its run, channel to publish it on, 1 if the item is closed, else 0, event as JSON, and
--          packed or ''
-- RETURNS  1, or 0 when there is no such item or it was cancelled
-- ERRORS   BADSEQ: another event was recorded, or the item was closed or reopened, meanwhile; read again and repeat
-- COST     about 13 commands
local now, wall = clocks()
local before = head_of_partition()
local id = ARGV[1]
local item = key(KEY.item, id)
local w = call('HMGET', item, ITEM.source, ITEM.closed, ITEM.lane, ITEM.seq, ITEM.reopenedSeq)
if not w[1] or w[2] == CLOSED.cancelled then return 0 end
if number(ARGV[2]) ~= number(w[4] or 0) + 1 or (ARGV[5] == '1') ~= (w[2] and true or false) then
  return redis.error_reply(ERROR.outOfOrder .. ' ' .. id .. ' has ' .. (w[4] or 0) .. ' events')
end
record(id, ARGV[2], ARGV[4], ARGV, 6, 7)
if w[2] then
  call('HSET', item, ITEM.run, ARGV[3])
  call('ZADD', key(KEY.closed), int(wall), id)
elseif w[5] and number(w[5]) == number(w[4] or 0) then
  -- The hint that reopened the item still waits for a poll: no event about the payment was recorded since.
  call('HSET', item, ITEM.reopenedSeq, ARGV[2])
end
local lease = call('HGET', key(KEY.leases), id)
if lease then
  local token = unpack_lease(lease)
  call('HSET', item, ITEM.token, int(number(token) + 1))
  call('ZREM', key(KEY.leaseEnds), id)
  call('HDEL', key(KEY.leases), id)
  add_to_schedule(w[3], URGENT, { int(now), id })
  release_slots(w[3], 1)
end
save_lanes(now)
call('PUBLISH', N .. CHANNEL.recorded, match(P, '%d+'))
wake_if_earlier(before)
return 1
