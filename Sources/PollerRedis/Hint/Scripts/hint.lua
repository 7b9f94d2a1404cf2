#!lua flags=allow-oom
-- Makes an open item due now. A leased item becomes due right after its commit. An item that was closed without an
-- answer, with one that the hint may change, or because no response was understood, is reopened (lib_reopen.lua). The
-- hint stays with an open item, because the poll that closes it may have missed the change.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, topic of the hint (a anything, o an outcome, m money)
-- RETURNS  1, or 0 when no such item is open or can be reopened
-- USES     lib_created_index, lib_reopen
-- COST     four reads, five writes; about twenty to reopen an item
local now, wall = clocks()
local before = head_of_partition()
local id, topic = ARGV[1], ARGV[2]
local item = key(KEY.item, id)
local w = call('HMGET', item, ITEM.source, ITEM.closed, ITEM.lane, ITEM.payment, ITEM.state)
if not w[1] then return 0 end
local closed = w[2]
if closed then
  if not is_reopened_by(topic, closed, w[4], w[5]) then return 0 end
  reopen(id, closed, wall)
  call('ZREM', key(KEY.closed), id)
  if closed == CLOSED.dead then call('ZREM', key(KEY.quarantine), id) end
else
  call('HSET', item, ITEM.hinted, int(wall))
end
local lease = call('HGET', key(KEY.leases), id)
-- An item that closed with an answer is reopened for exactly this poll.
if closed ~= CLOSED.settled and closed ~= CLOSED.reached then
  store_hint(item, topic, lease and unpack_lease(lease))
end
if lease then
  if mark_lease(id, lease) then notify_lease_owners() end
else
  make_due(id, w[3], now)
end
save_lanes(now)
wake_if_earlier(before)
return 1
