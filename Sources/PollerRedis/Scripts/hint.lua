#!lua flags=allow-oom
-- Makes an open item due now; one that is leased becomes due right after its commit. One that was
-- closed without an answer, or with one that the news may change, is opened again, as it was and with
-- the span it had at first: a new run, which remembers the seq that had been recorded before it.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, news (a anything, o an outcome, m money)
-- RETURNS  1, or 0 when no such item is open or may be opened
-- COST     three reads, four writes; to open again, eight
local now, wall = clocks()
local before = head_of_partition()
local id = ARGV[1]
local item = key(KEY.item, id)
local w = call('HMGET', item, ITEM.source, ITEM.closed, ITEM.lane, ITEM.began, ITEM.deadline,
  ITEM.run, ITEM.seq, ITEM.payment)
if not w[1] then return 0 end
if w[2] then
  -- See ClosedReason and HintNews. What is remembered of a payment has a fourth value once there was money.
  local isAnswered = w[2] == CLOSED.settled or w[2] == CLOSED.reached
  if isAnswered then
    local hasMoney = w[8] and find(w[8], '^[^|]*|[^|]*|[^|]*|[^|]')
    if not w[8] or ARGV[2] == HINT.anything or (ARGV[2] == HINT.outcome and hasMoney) then return 0 end
  elseif w[2] ~= CLOSED.expired and w[2] ~= CLOSED.gone then
    return 0
  end
  local span = number(w[5] or 0) - number(w[4] or 0)
  call('HSET', item, ITEM.began, int(wall), ITEM.deadline, int(wall + span),
    ITEM.run, int(w[6] + 1), ITEM.reopenedSeq, w[7] or 0)
  call('HDEL', item, ITEM.closed, ITEM.hasError, ITEM.crashes)
  if isAnswered then
    call('HSET', item, ITEM.endedAs, w[2])
  else
    call('HDEL', item, ITEM.endedAs)
  end
  call('HDEL', key(KEY.long, id), LONG.error)
  call('ZREM', key(KEY.closed), id)
end
call('HSET', item, ITEM.hinted, int(wall))
local lease = call('HGET', key(KEY.leases), id)
if lease then
  if mark_lease(id, lease) then tell_holders() end
else
  make_due(id, w[3], now)
end
save_lanes(now)
wake_if_earlier(before)
return 1
