-- Preface of commit.lua: applies results to lanes and deadlines. Redis creates the functions and tables of a preface
-- once, and those of a script at each call.

-- The first and the longest hold of an open circuit, ms, and the number of denials that double a hold like one
-- unanswered attempt (CircuitHold in Lane.swift).
local UPSTREAM_HOLD, ENDPOINT_HOLD = HOLD.upstream, HOLD.endpoint
local DENIALS_TO_DOUBLE = HOLD.denialsToDouble
-- The kind of failure that each signal reports.
local FAILURES = {
  [SIGNAL.failing] = FAILURE.silent, [SIGNAL.erring] = FAILURE.erring, [SIGNAL.refused] = FAILURE.erring,
  [SIGNAL.denied] = FAILURE.denied, [SIGNAL.stillFailing] = FAILURE.denied, [SIGNAL.revoked] = FAILURE.revoked,
  [SIGNAL.garbled] = FAILURE.erring, [SIGNAL.stillGarbled] = FAILURE.erring,
}
-- Failures of an item whose last attempt failed in the same way. They do not count.
local REPEATED = { [SIGNAL.stillFailing] = true, [SIGNAL.stillGarbled] = true }

-- Applies the signal of an attempt to its whole lane (`LaneSignal`).
local function apply_signal(lane, kind, span, isEndpoint, now, wall)
  -- Measured until an attempt succeeds. A hold of zero changes nothing.
  local isFailure = FAILURES[kind] and kind ~= SIGNAL.refused
  if isEndpoint and (not lane.failingSince or lane.failingSince > wall) and (isFailure or span > 0) then
    set(lane, LANE.failingSince, wall)
  end
  if FAILURES[kind] then set(lane, LANE.lastFailure, FAILURES[kind]) end
  if isFailure then
    if not REPEATED[kind] then set(lane, LANE.failures, (lane.failures or 0) + 1) end
    lane.isFailing = isEndpoint and ENDPOINT_HOLD or UPSTREAM_HOLD
    lane.isSilent = lane.isSilent or kind == SIGNAL.failing or kind == SIGNAL.erring
    lane.isDenied = lane.isDenied or kind == SIGNAL.denied or kind == SIGNAL.garbled or kind == SIGNAL.revoked
  else
    set(lane, LANE.heldUntil, max(lane.heldUntil or 0, now + span))
  end
  if kind == SIGNAL.slow then
    -- Twenty 429 responses of one burst halve the lane once.
    if now >= (lane.slowUntil or 0) then set(lane, LANE.factor, max(1 / 32, factor_of(lane, now) / 2)) end
    set(lane, LANE.slowUntil, max(lane.slowUntil or 0, now + span))
  elseif kind == SIGNAL.refused then
    set(lane, LANE.failures, max(lane.failures or 0, FAILURES_MAX))
  end
  rescore(lane)
end

-- Forgets the failures of a lane after a success.
local function end_failures(lane)
  for _, field in ipairs({ LANE.failures, LANE.lastFailure, LANE.openings, LANE.failingSince, LANE.denials }) do
    set(lane, field, nil)
  end
  lane.isFailing, lane.isSilent, lane.isDenied = nil, nil, nil
end

-- Opens the circuit of a lane whose attempts got no response, longer each time. It stays as long as last time if the
-- only items that failed had failed before. An upstream that denies requests or responds with nonsense is not silent:
-- its holds grow separately.
local function update_circuit(lane, now)
  if not lane.isFailing or (lane.failures or 0) < FAILURES_MAX or now < (lane.heldUntil or 0) then return end
  local first, longest = unpack(lane.isFailing)
  local doublings
  if lane.isSilent then
    doublings = lane.openings or 0
    set(lane, LANE.openings, doublings + 1)
  else
    local denials = (lane.denials or 0) + (lane.isDenied and 1 or 0)
    doublings = max(floor(denials / DENIALS_TO_DOUBLE) - 1, 0)
    set(lane, LANE.denials, denials)
    set(lane, LANE.openings, nil)
  end
  set(lane, LANE.heldUntil, now + min(longest, first * 2 ^ min(doublings, 6)))
  rescore(lane)
end

-- Returns whether an item's deadline was in a gap, a span without claims. The item then gets the time it had left
-- before the gap, or its whole span if it began within the gap.
local function extend_deadline_over_gap(item, gap)
  local w = call('HMGET', item, ITEM.deadline, ITEM.began)
  local deadline, first = bounded(w[1], 0), gap[2] - gap[1]
  if deadline > gap[2] or deadline <= first then return false end
  local remaining = deadline - max(first, bounded(w[2], 0))
  call('HSET', item, ITEM.deadline, int(gap[2] + remaining))
  return true
end
