#!lua flags=allow-oom
-- Records an event that is about an item and changes nothing else of it; of a closed item as a run of its
-- own. A lease ends, because its result would not follow: the item is due at once. That it was not
-- recorded before is the caller's to know, from the log that ends with the event before it.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, seq of the event, its run, channel to publish it on, 1 when it is told of an item that is
--          closed, or 0, event as JSON, and packed or ''
-- RETURNS  1, or 0 when no such item may be told of
-- ERRORS   BADSEQ: something was recorded meanwhile; read again and repeat
-- COST     about 12 commands
local now = clocks()
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
elseif w[5] and number(w[5]) == number(w[4] or 0) then
  -- Whatever opened it again still waits for its look: of the payment nothing was told since.
  call('HSET', item, ITEM.reopenedSeq, ARGV[2])
end
local lease = call('HGET', key(KEY.leases), id)
if lease then
  local token = unpack_lease(lease)
  call('HSET', item, ITEM.token, int(number(token) + 1))
  call('ZREM', key(KEY.leaseEnds), id)
  call('HDEL', key(KEY.leases), id)
  add_to_wheel(w[3], URGENT, { int(now), id })
  give_back(w[3], 1)
end
save_lanes(now)
call('PUBLISH', N .. CHANNEL.recorded, match(P, '%d+'))
wake_if_earlier(before)
return 1
