#!lua flags=allow-oom
-- Stores an order if its version is unchanged, with the events of the change. An order is an item that is closed from
-- the start: it is in no schedule, and is removed like closed watches.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, order, policy, lane, version it was read with (0: none), the order after its new version (see
--          Order.stored), state (see WatchRecord), when it became known, ms ('' for now), the stored payment ('' for
--          none), channel to publish on, seq of the first event, events, each as JSON and packed or ''
-- RETURNS  1, or 0 when it has another version
-- ERRORS   IDCLASH: another source has this id; BADSEQ: an event does not follow the last one
-- COST     about 8 commands, and 4 per event
local _, wall = clocks()
local id = ARGV[1]
local item = key(KEY.item, id)
local w = call('HMGET', item, ITEM.source, ITEM.seq)
if w[1] and w[1] ~= ARGV[2] then
  return redis.error_reply(ERROR.idClash .. ' ' .. id .. ' is the id of another source')
end
local known = call('HGET', key(KEY.long, id), LONG.order)
if number(known and match(known, '^%d+') or 0) ~= number(ARGV[5]) then return 0 end
if ARGV[12] and number(ARGV[11]) ~= number(w[2] or 0) + 1 then
  return redis.error_reply(ERROR.outOfOrder .. ' ' .. id .. ' has ' .. (w[2] or 0) .. ' events')
end
if not w[1] then
  local began = ARGV[8] ~= '' and ARGV[8] or int(wall)
  call('HSET', item, ITEM.source, ARGV[2], OPTION.policy, ARGV[3], ITEM.lane, ARGV[4], ITEM.began, began,
    ITEM.deadline, began, ITEM.run, '1', ITEM.order, ARGV[2], ITEM.closed, CLOSED.settled)
  call('ZADD', key(KEY.orders), int(wall), id)
end
call('HSET', item, ITEM.state, ARGV[7])
if ARGV[9] ~= '' then call('HSET', item, ITEM.payment, ARGV[9]) end
call('HSET', key(KEY.long, id), LONG.order, ARGV[6])
call('ZADD', key(KEY.closed), int(wall), id)
if ARGV[12] then
  record(id, ARGV[11], ARGV[10], ARGV, 12, #ARGV)
  call('PUBLISH', N .. CHANNEL.recorded, match(P, '%d+'))
end
return 1
