#!lua flags=no-writes
-- Reports the state of lanes.
--
-- KEYS[1]  meta key of the partition
-- ARGV     lanes; or none and, as two numbers after '', the position of the first (0 at the start) and how many
-- RETURNS  {now ms, next position or -1, lane, lane, …}, fewer than requested if some were already reported, and none
--          of a partition that is being filled unless they were named; a lane is {name, waiting, overdue, oldest due ms
--          or '', in flight, interval µs or '', burst, most in flight, paused 0|1, held until ms, factor in 1/1000,
--          failures, failing since ms or 0, not before ms or 0, LaneFailure or 0}
-- COST     at most nine reads per lane of the page, and on the last pages a hundred names
local now, wall, back = clocks()
local names, next_position = ARGV, -1
if ARGV[1] == '' and stage == STAGE.filling then
  names = {}
elseif ARGV[1] == '' then
  -- The longest overdue lanes come first; their positions are ranks that continue from one list to the next. Then come
  -- empty lanes with settings of their own. These are scanned, and their positions are below -1: the scan's cursor, and
  -- the number already reported at that cursor. A lane in two lists is reported with the first.
  local first, count = tonumber(ARGV[2]), tonumber(ARGV[3])
  local BATCH = 4096
  names = {}
  local function add(found, ...)
    for _, name in ipairs(found) do
      local isListed = false
      for _, set in ipairs({ ... }) do isListed = isListed or call('ZSCORE', key(set), name) end
      if not isListed then names[#names + 1] = name end
    end
  end
  if first >= 0 then
    local urgent, normal = call('ZCARD', key(KEY.readyUrgent)), call('ZCARD', key(KEY.readyNormal))
    local last = math.min(first + count, urgent + normal) - 1
    if first < urgent then add(call('ZRANGE', key(KEY.readyUrgent), first, math.min(last, urgent - 1))) end
    if last >= urgent then
      add(call('ZRANGE', key(KEY.readyNormal), math.max(first - urgent, 0), last - urgent), KEY.readyUrgent)
    end
    if last + 1 < urgent + normal then
      next_position = last + 1
    elseif call('EXISTS', key(KEY.lanesWithSettings)) == 1 then
      next_position = -2
    end
  else
    local position = -2 - first
    local cursor, skipped = floor(position / BATCH), position % BATCH
    local found = call('SSCAN', key(KEY.lanesWithSettings), int(cursor), 'COUNT', '100')
    local batch = found[2]
    add({ unpack(batch, skipped + 1, min(skipped + count, #batch)) }, KEY.readyUrgent, KEY.readyNormal)
    if skipped + count < #batch then
      next_position = first - count
    elseif found[1] ~= '0' then
      next_position = -2 - number(found[1]) * BATCH
    end
  end
end
local reply = { int(wall), next_position }
for _, name in ipairs(names) do
  local lane = lane_of(name)
  local waiting, overdue, oldest = 0, 0, nil
  for schedule in pairs(READY) do
    waiting = waiting + call('ZCARD', key(schedule, name))
    overdue = overdue + call('ZCOUNT', key(schedule, name), '-inf', int(now))
    local head = tonumber(call('ZRANGE', key(schedule, name), 0, 0, 'WITHSCORES')[2] or '')
    if head and (not oldest or head < oldest) then oldest = head end
  end
  reply[#reply + 1] = { name, waiting, overdue, oldest and int(oldest - back) or '', int(lane.inFlight or 0),
    lane.intervalUs and int(lane.intervalUs) or '', int(lane.burst or 0), int(lane.inFlightMax or 0),
    lane.paused and 1 or 0, int((lane.heldUntil or back) - back), int(factor_of(lane, now) * 1000), int(lane.failures or 0),
    int(lane.failingSince or 0), int(ceil(max(lane.notBefore or 0, lane.heldUntil or 0, back) - back)),
    int(lane.lastFailure or 0) }
end
return reply
