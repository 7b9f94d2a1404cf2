#!lua flags=no-writes
-- Counts the contents of a partition, some lanes at a time.
--
-- KEYS[1]  meta key of the partition
-- ARGV     rank of the first lane, most lanes
-- RETURNS  {waiting, overdue, leased, closed (without orders and incidents), entries in the outbox, not yet
--          acknowledged, lanes, quarantined, oldest due ms or -1, paused, held, open circuits of lanes that are not
--          paused, next rank or -1}; all counts except those of lanes are returned with the first page. A partition
--          that is being filled counts as empty
-- COST     five reads per lane, the groups of the outbox, and at most 100 of its entries
local now, _, back = clocks()
if stage == STAGE.filling then
  -- Its contents are counted in the partition they come from.
  return { 0, 0, 0, 0, 0, 0, 0, 0, '-1', 0, 0, 0, -1 }
end
local first, count = tonumber(ARGV[1]), tonumber(ARGV[2])
local waiting, overdue, oldest, paused, held, open = 0, 0, nil, 0, 0, 0
local total = call('ZCARD', key(KEY.occupiedLanes))
for _, name in ipairs(call('ZRANGE', key(KEY.occupiedLanes), first, first + count - 1)) do
  local lane = lane_of(name)
  for schedule in pairs(READY) do
    local size = call('ZCARD', key(schedule, name))
    if size > 0 then
      waiting = waiting + size
      overdue = overdue + call('ZCOUNT', key(schedule, name), '-inf', int(now))
      local head = tonumber(call('ZRANGE', key(schedule, name), 0, 0, 'WITHSCORES')[2])
      if not oldest or head < oldest then oldest = head end
    end
  end
  if lane.paused then paused = paused + 1 end
  if (lane.heldUntil or 0) > now then held = held + 1 end
  -- A paused lane is not polled, so it does not fail.
  if not lane.paused and (lane.failures or 0) >= FAILURES_MAX then open = open + 1 end
end
local next_rank = first + count < total and first + count or -1
local numbers = { 0, 0, 0, 0, 0 }
if first == 0 then
  local entries, unacknowledged = call('XLEN', key(KEY.outbox)), 0
  if entries > 0 then
    unacknowledged = entries
    for _, group in ipairs(call('XINFO', 'GROUPS', key(KEY.outbox))) do
      local fields = {}
      for at = 1, #group, 2 do fields[group[at]] = group[at + 1] end
      if fields['name'] == GROUP.notifier then
        -- After Redis has reloaded its files, the group's own lag can be far too high.
        local read = '(' .. fields['last-delivered-id']
        unacknowledged = #call('XRANGE', key(KEY.outbox), read, '+', 'COUNT', 100)
        if unacknowledged == 100 then unacknowledged = math.max(unacknowledged, fields['lag'] or entries) end
        unacknowledged = math.min(unacknowledged, entries) + fields['pending']
      end
    end
  end
  -- Orders and incidents are items that are closed from the start.
  local closed = call('ZCARD', key(KEY.closed)) - call('ZCARD', key(KEY.orders))
    - call('SCARD', key(KEY.incidentItems))
  numbers = { call('ZCARD', key(KEY.leaseEnds)), max(closed, 0), entries, unacknowledged,
    call('ZCARD', key(KEY.quarantine)) }
end
return { waiting, overdue, numbers[1], numbers[2], numbers[3], numbers[4],
  first == 0 and total or 0, numbers[5], oldest and int(oldest - back) or '-1', paused, held, open,
  next_rank }
