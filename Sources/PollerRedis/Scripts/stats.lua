#!lua flags=no-writes
-- Counts what a partition holds, some lanes at a time.
--
-- KEYS[1]  meta key of the partition
-- ARGV     rank of the first lane, most lanes
-- RETURNS  {waiting, overdue, leased, closed (without orders and incidents), entries in the outbox, not yet acknowledged, lanes,
--          quarantined, oldest due ms or -1, paused, held, circuits open of those not paused, next rank or -1}; all but
--          those of lanes are told with the first of them. Of a partition that is being filled there is nothing
-- COST     five reads a lane, the groups of the outbox, and at most 100 of its entries
local now, _, back = clocks()
if stage == STAGE.filling then
  -- What is in it is counted where it comes from.
  return { 0, 0, 0, 0, 0, 0, 0, 0, '-1', 0, 0, 0, -1 }
end
local first, count = tonumber(ARGV[1]), tonumber(ARGV[2])
local waiting, overdue, oldest, paused, held, open = 0, 0, nil, 0, 0, 0
local total = call('ZCARD', key(KEY.occupiedLanes))
for _, name in ipairs(call('ZRANGE', key(KEY.occupiedLanes), first, first + count - 1)) do
  local lane = lane_of(name)
  for wheel in pairs(READY) do
    local size = call('ZCARD', key(wheel, name))
    if size > 0 then
      waiting = waiting + size
      overdue = overdue + call('ZCOUNT', key(wheel, name), '-inf', int(now))
      local head = tonumber(call('ZRANGE', key(wheel, name), 0, 0, 'WITHSCORES')[2])
      if not oldest or head < oldest then oldest = head end
    end
  end
  if lane.paused then paused = paused + 1 end
  if (lane.heldUntil or 0) > now then held = held + 1 end
  -- What a person has stopped is not asked, so it does not fail.
  if not lane.paused and (lane.failures or 0) >= FAILURES_MAX then open = open + 1 end
end
local following = first + count < total and first + count or -1
local numbers = { 0, 0, 0, 0, 0 }
if first == 0 then
  local entries, behind = call('XLEN', key(KEY.outbox)), 0
  if entries > 0 then
    behind = entries
    for _, group in ipairs(call('XINFO', 'GROUPS', key(KEY.outbox))) do
      local facts = {}
      for at = 1, #group, 2 do facts[group[at]] = group[at + 1] end
      if facts['name'] == GROUP.notifier then
        -- Once Redis has read its files again the group's own lag can be far too long.
        local read = '(' .. facts['last-delivered-id']
        behind = #call('XRANGE', key(KEY.outbox), read, '+', 'COUNT', 100)
        if behind == 100 then behind = math.max(behind, facts['lag'] or entries) end
        behind = math.min(behind, entries) + facts['pending']
      end
    end
  end
  -- Orders and incidents are items that are closed from their beginning.
  local closed = call('ZCARD', key(KEY.closed)) - call('ZCARD', key(KEY.orders))
    - call('SCARD', key(KEY.incidentItems))
  numbers = { call('ZCARD', key(KEY.leaseEnds)), max(closed, 0), entries, behind,
    call('ZCARD', key(KEY.quarantine)) }
end
return { waiting, overdue, numbers[1], numbers[2], numbers[3], numbers[4],
  first == 0 and total or 0, numbers[5], oldest and int(oldest - back) or '-1', paused, held, open,
  following }
