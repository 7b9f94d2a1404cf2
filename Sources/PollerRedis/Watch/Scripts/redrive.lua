#!lua flags=allow-oom
-- Reopens a quarantined item, due now, with its original span.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id
-- RETURNS  1, or 0 when it is not in quarantine
-- USES     lib_created_index
-- COST     about 15 commands
local now, wall = clocks()
local before = head_of_partition()
local id = ARGV[1]
local w = call('HMGET', key(KEY.item, id), ITEM.closed, ITEM.lane, ITEM.began, ITEM.deadline, ITEM.run)
if w[1] ~= CLOSED.dead then return 0 end
call('HSET', key(KEY.item, id), ITEM.began, int(wall), ITEM.deadline, int(wall + span_between(w[3], w[4])),
  ITEM.run, int(bounded(w[5], 1) + 1))
call('HDEL', key(KEY.item, id), ITEM.closed, ITEM.hinted, ITEM.state, ITEM.hasError, ITEM.crashes,
  ITEM.reopenedSeq, ITEM.endedAs, ITEM.pendingHint, ITEM.payment)
call('HDEL', key(KEY.long, id), LONG.error)
call('ZREM', key(KEY.closed), id)
call('ZREM', key(KEY.quarantine), id)
restart_created(id, w[2], w[3], wall)
add_to_schedule(w[2], URGENT, { int(now), id })
save_lanes(now)
wake_if_earlier(before)
return 1
