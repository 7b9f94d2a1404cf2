#!lua flags=allow-oom
-- Changes how a lane is served, from the next claim on.
--
-- KEYS[1]  meta key of the partition
-- ARGV     lane, then pause; or resume; or limit, interval µs, burst, most in flight; or default and three ignored
--          values; then the limit to replace: 'rate in 1/1000 burst most', '' for no limit of its own; absent for any
-- RETURNS  {1, now ms, paused before 0|1, held until before ms, failures before}; {0} when the current limit is a
--          different one, and nothing has changed
-- COST     about 8 commands
local now, wall, back = clocks()
local before = head_of_partition()
local name, verb = ARGV[1], ARGV[2]
local lane = lane_of(name)
if ARGV[6] then
  -- The rate in the form of reports (RedisLaneControl.swift).
  local interval, current = lane.intervalUs, ''
  if interval then
    local rate = interval > 0 and math.floor(1e9 / interval + 0.5) or 0
    current = string.format('%.0f %.0f %.0f', rate, lane.burst or 0, lane.inFlightMax or 0)
  end
  if current ~= ARGV[6] then return { 0 } end
end
local reply = { 1, int(wall), lane.paused and 1 or 0, int((lane.heldUntil or back) - back), int(lane.failures or 0) }
if verb == 'pause' then
  set(lane, LANE.paused, 1)
elseif verb == 'resume' then
  for _, field in ipairs({ LANE.paused, LANE.heldUntil, LANE.failures, LANE.lastFailure, LANE.openings,
    LANE.denials, LANE.failingSince, LANE.factor, LANE.slowUntil, LANE.parked }) do set(lane, field, nil) end
else
  -- Items delayed by the old limit are free again. Items in flight still count.
  for _, field in ipairs({ LANE.arrival, LANE.notBefore, LANE.parked }) do set(lane, field, nil) end
  local isDefault = verb == 'default'
  set(lane, LANE.intervalUs, not isDefault and tonumber(ARGV[3]) or nil)
  set(lane, LANE.burst, not isDefault and tonumber(ARGV[4]) or nil)
  set(lane, LANE.inFlightMax, not isDefault and tonumber(ARGV[5]) or nil)
end
if lane.paused or lane.intervalUs then
  call('SADD', key(KEY.lanesWithSettings), name)
else
  call('SREM', key(KEY.lanesWithSettings), name)
end
rescore(lane)
save_lanes(now)
wake_if_earlier(before)
return reply
