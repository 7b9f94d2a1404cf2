#!lua flags=no-writes
-- Reports how lanes stand.
--
-- KEYS[1]  meta key of the partition
-- ARGV     lanes; or none and, as two numbers after '', the rank of the first and how many
-- RETURNS  {now ms, next rank or -1, lane, lane, …}, fewer than asked for where some were told; a
--          lane is {name, waiting, overdue, oldest due ms or '', in flight, interval µs or '', burst, most in flight, paused 0|1, held until ms,
--          factor in 1/1000, failures, failing since ms or 0, not before ms or 0,
--          LaneFailure or 0}
-- COST     at most nine reads a lane of the page, and those with settings on the last pages
local now, wall, back = clocks()
local names, following = ARGV, -1
if ARGV[1] == '' then
  -- The longest overdue first; then those with settings of their own that hold nothing. Ranks go on
  -- from one list to the next; a lane that is in two is told with the first.
  local first, count = tonumber(ARGV[2]), tonumber(ARGV[3])
  local urgent, rest = call('ZCARD', key(KEY.readyUrgent)), call('ZCARD', key(KEY.readyRest))
  local own = call('SCARD', key(KEY.lanesWithSettings))
  local last = math.min(first + count, urgent + rest + own) - 1
  names = {}
  local function add(found, ...)
    for _, name in ipairs(found) do
      local isTold = false
      for _, set in ipairs({ ... }) do isTold = isTold or call('ZSCORE', key(set), name) end
      if not isTold then names[#names + 1] = name end
    end
  end
  if first < urgent then add(call('ZRANGE', key(KEY.readyUrgent), first, math.min(last, urgent - 1))) end
  if last >= urgent and first < urgent + rest then
    add(call('ZRANGE', key(KEY.readyRest), math.max(first - urgent, 0), last - urgent), KEY.readyUrgent)
  end
  if last >= urgent + rest then
    local settings = call('SMEMBERS', key(KEY.lanesWithSettings))
    local from = math.max(first - urgent - rest, 0) + 1
    add({ unpack(settings, from, last - urgent - rest + 1) }, KEY.readyUrgent, KEY.readyRest)
  end
  if last + 1 < urgent + rest + own then following = last + 1 end
end
local reply = { int(wall), following }
for _, name in ipairs(names) do
  local lane = lane_of(name)
  local waiting, overdue, oldest = 0, 0, nil
  for wheel in pairs(READY) do
    waiting = waiting + call('ZCARD', key(wheel, name))
    overdue = overdue + call('ZCOUNT', key(wheel, name), '-inf', int(now))
    local head = tonumber(call('ZRANGE', key(wheel, name), 0, 0, 'WITHSCORES')[2] or '')
    if head and (not oldest or head < oldest) then oldest = head end
  end
  reply[#reply + 1] = { name, waiting, overdue, oldest and int(oldest - back) or '', int(lane.inFlight or 0),
    lane.intervalUs and int(lane.intervalUs) or '', int(lane.burst or 0), int(lane.inFlightMax or 0),
    lane.paused and 1 or 0, int((lane.heldUntil or back) - back), int(factor_of(lane, now) * 1000), int(lane.failures or 0),
    int(lane.failingSince or 0), int(ceil(max(lane.notBefore or 0, lane.heldUntil or 0, back) - back)),
    int(lane.lastFailure or 0) }
end
return reply
