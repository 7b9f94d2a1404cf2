#!lua flags=allow-oom
-- Commits the results of leases, each only while the lease is valid. Then claims due items, if requested.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     the owner with the values of the claim, if one is requested (ClaimField in ScriptCodes.swift); the list of
--          commits (CommitField). Both are MessagePack with names
-- RETURNS  claim.lua's reply with the results: for each commit 1 (recorded, now or before) or 0 (LEASELOST: nothing
--          written)
-- USES     lib_texts, lib_created_index, lib_reopen, lib_search_index, lib_claim
-- ERRORS   BADSEQ: events do not follow the last one; nothing of the batch is written
-- COST     one HSET for an unchanged item, and seven commands for a closed one or a change with its event; everything
--          else once per batch or per lane
--
-- All commits are checked before the first write, so an error leaves no partial result. Token and owner at the start of
-- the lease authorize a commit: an owner whose lease has expired or was taken over changes nothing (0). A commit
-- repeated after a lost reply finds no lease, and its own token in the item: committed before (1). This script appends
-- the events to the outbox and the item's log and publishes them, together with the state they report. Of an item's
-- writes, the stream comes first, because it can fail. Marks set during the lease override the verdict: a hinted item
-- is due now, regardless of the result. An item closed by a poll that may have missed the change of a hint is reopened
-- for it at once, as in hint.lua.

-- The multiple, ms, to which due times are rounded up on request. Items that become due together are started by one
-- wake-up of their worker, which costs as much as several polls.
local DUE_GRID = 32

local request, commits = cmsgpack.unpack(ARGV[1]), cmsgpack.unpack(ARGV[2])
local items, owner_suffix = key(KEY.item), ' ' .. request.owner .. ' '
local now, wall, back, gap = clocks_and_gap()
local isClaiming = request.limit ~= nil
local before = not isClaiming and head_of_partition() or nil

local results, valid, seen, marks, lane_names, stored, ids = {}, {}, {}, {}, {}, {}, {}
for index, commit in ipairs(commits) do ids[index] = commit.id end
local leases = #ids > 0 and call('HMGET', key(KEY.leases), unpack(ids)) or {}
for index, commit in ipairs(commits) do
  local id, lease = commit.id, leases[index]
  results[index] = 0
  if not lease then
    -- The item has no lease. If it has our token, an earlier attempt of this commit succeeded.
    if call('HGET', items .. id, ITEM.token) == commit.token then results[index] = 1 end
  else
    local lease_prefix = commit.token .. owner_suffix
    local length = #lease_prefix
    if sub(lease, 1, length) == lease_prefix then
      results[index] = 1
      -- The same commit twice in one batch counts once.
      if not seen[id] then
        seen[id] = true
        if commit.events then
          local w = call('HMGET', items .. id, ITEM.seq, ITEM.metadata, ITEM.pendingHint)
          if commit.seq ~= number(w[1] or 0) + 1 then
            return redis.error_reply(ERROR.outOfOrder .. ' ' .. id .. ' has ' .. (w[1] or 0) .. ' events')
          end
          stored[index] = w
        end
        valid[#valid + 1] = index
        marks[index] = sub(lease, length + 1, length + 3)
        lane_names[index] = sub(lease, find(lease, ' ', length + 5, true) + 1)
      end
    end
  end
end

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
local function apply_signal(lane, kind, span, isEndpoint)
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

-- Opens the circuit of a lane whose attempts got no response, longer each time. It stays as long as last time if the
-- only items that failed had failed before. An upstream that denies requests or responds with nonsense is not silent:
-- its holds grow separately.
local function update_circuit(lane)
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
local function extend_deadline_over_gap(id)
  local w = call('HMGET', items .. id, ITEM.deadline, ITEM.began)
  local deadline, first = number(w[1] or 0), gap[2] - gap[1]
  if deadline > gap[2] or deadline <= first then return false end
  local remaining = deadline - max(first, number(w[2] or 0))
  call('HSET', items .. id, ITEM.deadline, int(gap[2] + remaining))
  return true
end

local has_events, finished, released_slots, closed, dead = false, {}, {}, {}, {}
local due_items = { [KEY.urgent] = {}, [KEY.normal] = {} }
local NOTHING = {}
for _, index in ipairs(valid) do
  local commit, name, mark = commits[index], lane_names[index], marks[index]
  local id, token = commit.id, commit.token
  local item, lane = items .. id, lane_of(name)
  local verdict, reason = commit.verdict or VERDICT.next, commit.reason or CLOSED.settled
  local isHinted, isClosing = byte(mark) == MARKBYTE.hinted, verdict == VERDICT.close
  -- A request with a later deadline joined during the lease. The old deadline closes nothing; poll again.
  local isExtended = isClosing and reason == CLOSED.expired
    and (isHinted and number(call('HGET', item, ITEM.deadline) or 0) > wall or extend_deadline_over_gap(id))
  -- A request with a further goal than the one reached joined during the lease. The next poll reports the observed
  -- status.
  local hasLaterGoal = isClosing and reason == CLOSED.reached and isHinted
    and call('HGET', item, OPTION.goal) ~= GOAL.leftPending
  -- Fields to write with the token and the state, each followed by its value; and the pending hint, once read.
  local values, hint = NOTHING, nil
  if isExtended or hasLaterGoal then
    verdict, isClosing = VERDICT.next, false
  else
    if commit.events then
      local w = stored[index]
      hint = w[3]
      values = { ITEM.seq, record_events(id, name, w[2], commit.seq, commit.channel, commit.events, 1, #commit.events) }
      has_events = true
    elseif commit.attempt then
      log_attempt(id, commit.attempt, commit.attemptMs)
    end
    if commit.payment then
      if values == NOTHING then values = {} end
      add(values, ITEM.payment, commit.payment)
    end
    if commit.secret then call('HSETNX', item, ITEM.secret, commit.secret) end
    if commit.entries then add_to_index(id, commit.entries) end
    if hint == nil and (isClosing or commit.seesMoney) then hint = call('HGET', item, ITEM.pendingHint) end
    if commit.seesMoney and not isClosing and hint and sub(hint, 2) ~= token then
      call('HDEL', item, ITEM.pendingHint)
    end
  end
  if commit.signal then
    apply_signal(lane, commit.signal, commit.signalMs, commit.isEndpoint)
  elseif lane.failures or lane.failingSince or lane.lastFailure then
    for _, field in ipairs({ LANE.failures, LANE.lastFailure, LANE.openings, LANE.failingSince,
      LANE.denials }) do set(lane, field, nil) end
    lane.isFailing, lane.isSilent, lane.isDenied = nil, nil, nil
  end

  local due, schedule
  local isReopened = isClosing
    and has_uncovered_hint(hint, item, token, reason, commit.seesMoney, commit.payment, commit.state)
  if isReopened or (isHinted and not isClosing) then
    due, schedule = now, URGENT
  elseif verdict == VERDICT.next then
    local due_at = now + (commit.waitMs or 0)
    if commit.isDueRounded then due_at = ceil(due_at / DUE_GRID) * DUE_GRID end
    due, schedule = due_at, commit.isUrgent and URGENT or NORMAL
  end
  if due then
    if hasLaterGoal then
      call('HSET', item, ITEM.token, token)
    else
      call('HSET', item, ITEM.token, token, ITEM.state, commit.state, unpack(values))
    end
    if isReopened then reopen(id, reason, wall) end
    local list = due_items[schedule][name]
    if not list then
      list = { earliest = due }
      due_items[schedule][name] = list
    end
    list.earliest = min(list.earliest, due)
    list[#list + 1] = text(due)
    list[#list + 1] = id
  else
    call('HSET', item, ITEM.token, token, ITEM.state, commit.state, ITEM.closed, reason, unpack(values))
    closed[#closed + 1] = wall
    closed[#closed + 1] = id
    if reason == CLOSED.dead then
      dead[#dead + 1] = wall
      dead[#dead + 1] = id
    end
  end
  -- The mark says that an error is stored among the long values, so a success without one needs no read.
  local error = commit.error
  if error == KEEP.error then
    -- A dead letter keeps its reason, regardless of later results.
  elseif error then
    call('HSET', key(KEY.long, id), LONG.error, error)
    call('HSET', item, ITEM.hasError, 1)
  elseif byte(mark, 2) == MARKBYTE.hasError then
    call('HDEL', key(KEY.long, id), LONG.error)
    call('HDEL', item, ITEM.hasError)
  end
  if byte(mark, 3) == MARKBYTE.crashed then call('HDEL', item, ITEM.crashes) end
  released_slots[name] = (released_slots[name] or 0) + 1
  finished[#finished + 1] = id
end

if #finished > 0 then
  call('ZREM', key(KEY.leaseEnds), unpack(finished))
  call('HDEL', key(KEY.leases), unpack(finished))
end
if #closed > 0 then
  call('ZADD', key(KEY.closed), unpack(closed))
  for at = 2, #closed, 2 do move_created_item(closed[at], true) end
end
if #dead > 0 then call('ZADD', key(KEY.quarantine), unpack(dead)) end
for schedule, by_lane in pairs(due_items) do
  for name, list in pairs(by_lane) do add_to_schedule(name, schedule, list, list.earliest) end
end
for name, count in pairs(released_slots) do
  update_circuit(lane_of(name))
  release_slots(name, count)
end
if has_events then call('PUBLISH', N .. CHANNEL.recorded, match(P, '%d+')) end

-- The claimer learns of due items from the reply. Lanes are stored once for commit and claim.
local reply, claimed, earliest = { results = results }, {}, nil
if isClaiming then
  reply.now, reply.fullLanes = wall, {}
  reply.recovered, earliest = recover(now, request.leaseMs)
  claimed = claim(request, now, back, gap, reply.fullLanes)
end
save_lanes(now)
if isClaiming then
  reply.nextReady = next_ready(back, earliest)
else
  wake_if_earlier(before)
end
return cmsgpack.pack(reply, claimed)
