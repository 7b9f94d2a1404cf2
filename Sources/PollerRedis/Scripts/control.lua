#!lua flags=allow-oom
-- Changes how a lane is served, from the next claim on.
--
-- KEYS[1]  meta key of the partition
-- ARGV     lane, then pause; or resume; or limit, interval µs, burst, most in flight; or default
-- RETURNS  1
-- COST     about 8 commands
local now = clocks()
local before = head_of_partition()
local name, verb = ARGV[1], ARGV[2]
local lane = lane_of(name)
if verb == 'pause' then
  set(lane, LANE.paused, 1)
elseif verb == 'resume' then
  for _, field in ipairs({ LANE.paused, LANE.heldUntil, LANE.failures, LANE.openings, LANE.denials,
    LANE.failingSince, LANE.factor, LANE.slowUntil, LANE.parked }) do set(lane, field, nil) end
else
  -- What the old limit has put off is free again; what is in flight still counts.
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
return 1
