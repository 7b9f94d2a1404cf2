#!lua flags=no-writes
-- Reports how lanes stand.
--
-- KEYS[1]  meta key of the partition
-- ARGV     lanes; or none and, as two numbers after '', the rank of the first and how many
-- RETURNS  {now ms, next rank or -1, lane, lane, …}; a lane is {name, waiting, overdue, oldest due
--          ms or '', in flight, interval µs or '', burst, most in flight, paused 0|1, held until ms,
--          factor in 1/1000, failures, failing since ms or 0}
-- COST     six reads a lane
local now = clock()
local names, following = ARGV, -1
if ARGV[1] == '' then
  -- The longest overdue first; then those with settings of their own that hold nothing.
  local first, count = tonumber(ARGV[2]), tonumber(ARGV[3])
  local all, seen = {}, {}
  for _, set in ipairs({ redis.call('ZRANGE', key('b'), 0, -1), redis.call('ZRANGE', key('a'), 0, -1),
    redis.call('SMEMBERS', key('k')) }) do
    for _, name in ipairs(set) do
      if not seen[name] then
        seen[name] = true
        all[#all + 1] = name
      end
    end
  end
  names = {}
  for at = first + 1, math.min(first + count, #all) do names[#names + 1] = all[at] end
  if first + count < #all then following = first + count end
end
local reply = { int(now), following }
for _, name in ipairs(names) do
  local lane = lane_of(name)
  local waiting, overdue, oldest = 0, 0, nil
  for wheel in pairs(READY) do
    waiting = waiting + redis.call('ZCARD', key(wheel, name))
    overdue = overdue + redis.call('ZCOUNT', key(wheel, name), '-inf', int(now))
    local head = tonumber(redis.call('ZRANGE', key(wheel, name), 0, 0, 'WITHSCORES')[2] or '')
    if head and (not oldest or head < oldest) then oldest = head end
  end
  reply[#reply + 1] = { name, waiting, overdue, oldest and int(oldest) or '', int(lane.f or 0),
    lane.i and int(lane.i) or '', int(lane.b or 0), int(lane.m or 0), lane.x and 1 or 0,
    int(lane.u or 0), int(factor_of(lane, now) * 1000), int(lane.s or 0),
    int(lane.w or 0) }
end
return reply
