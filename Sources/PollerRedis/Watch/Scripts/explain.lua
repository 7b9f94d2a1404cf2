#!lua flags=no-writes
-- Returns where an item is and how many items are before it.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id
-- RETURNS  {} when there is none, else {lane, crashes, place, …}: waiting, due ms, schedule, items before it; leased,
--          owner, end ms; or closed, reason
-- COST     five reads, O(log n)
local id = ARGV[1]
local now, _, back = clocks()
local w = call('HMGET', key(KEY.item, id), ITEM.source, ITEM.lane, ITEM.closed, ITEM.crashes)
if not w[1] then return {} end
local lane, crashes = w[2], w[4] or 0
if w[3] then return { lane, crashes, 'closed', w[3] } end
local lease = call('HGET', key(KEY.leases), id)
if lease then
  local _, owner = unpack_lease(lease)
  local ends = tonumber(call('ZSCORE', key(KEY.leaseEnds), id) or back)
  return { lane, crashes, 'leased', owner, int(ends - back) }
end
local due, schedule = call('ZSCORE', key(URGENT, lane), id), URGENT
if not due then due, schedule = call('ZSCORE', key(NORMAL, lane), id), NORMAL end
if not due then return { lane, crashes, 'nowhere' } end
local ahead = call('ZRANK', key(schedule, lane), id)
if schedule == NORMAL then
  ahead = ahead + call('ZCOUNT', key(URGENT, lane), '-inf', int(now))
end
return { lane, crashes, 'waiting', int(due - back), schedule, ahead }
