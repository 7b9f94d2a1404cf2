#!lua flags=allow-oom
-- Commits the results of leases, each only while the lease is valid. Then claims due items, if requested.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     the seven values of claim.lua, most items 0 to claim none; then for each lease six: id, token, verdict (n
--          next, c close, r rest: closed until a mark), wait ms or reason ('' settled), schedule of the next turn
--          (u|z), state (packed). An uppercase verdict is followed by ten more: error or '' (= keeps the existing one),
--          signal ('' fine, h hold, s slow, f failing, e erring, d denied, k still failing, v revoked, g garbled, i
--          still garbled, r refused; uppercase for an endpoint), its ms, the number of events, the seq of the first,
--          the channel to publish them on, the payment to store or '' to keep it, its secret or '' if none was learned,
--          1 if the poll covered the change a hint announced, else '', and its new entries in the index, next to each
--          other; then the events, each as JSON and packed or ''. Without events, seq and channel are a line for the
--          item's log of attempts or '', and its time to live in ms
-- RETURNS  {results, claim}: for each lease 1 (recorded, now or before) or 0 (LEASELOST: nothing written); and
--          claim.lua's reply, or an empty list
-- USES     lib_texts, lib_created_index, lib_reopen, lib_search_index, lib_claim
-- ERRORS   BADSEQ: events do not follow the last one; nothing of the batch is written
-- COST     one HSET for an unchanged item, and seven commands for a closed one; everything else once per batch or per
--          lane
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

local owner, items = ARGV[1], key(KEY.item)
local now, wall, back, gap = clocks_and_gap()
local isClaiming = ARGV[2] ~= '0'
local before = not isClaiming and head_of_partition() or nil

-- Where each commit begins in ARGV, and whether it has the ten extra values.
local starts, ids, isLong, count = {}, {}, {}, 0
local at, last = 8, #ARGV
while at <= last do
  count = count + 1
  starts[count], ids[count] = at, ARGV[at]
  isLong[count] = byte(ARGV[at + 2]) < 97
  at = at + (isLong[count] and 16 + 2 * number(ARGV[at + 9]) or 6)
end

local results, valid, marks, lane_names = {}, {}, {}, {}
local leases = count > 0 and call('HMGET', key(KEY.leases), unpack(ids)) or {}
local seen, owner_suffix = {}, ' ' .. owner .. ' '
for index = 1, count do
  local id, lease, at = ids[index], leases[index], starts[index]
  results[index] = 0
  if not lease then
    -- The item has no lease. If it has our token, an earlier attempt of this commit succeeded.
    if call('HGET', items .. id, ITEM.token) == ARGV[at + 1] then results[index] = 1 end
  else
    local lease_prefix = ARGV[at + 1] .. owner_suffix
    local length = #lease_prefix
    if sub(lease, 1, length) == lease_prefix then
      results[index] = 1
      -- The same commit twice in one batch counts once.
      if not seen[id] then
        seen[id] = true
        if isLong[index] and ARGV[at + 9] ~= '0' then
          local seq = number(call('HGET', items .. id, ITEM.seq) or 0)
          if number(ARGV[at + 10]) ~= seq + 1 then
            return redis.error_reply(ERROR.outOfOrder .. ' ' .. id .. ' has ' .. seq .. ' events')
          end
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
local function apply_signal(lane, signal, span)
  local kind = string.lower(signal)
  local isEndpoint = kind ~= signal
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
for _, index in ipairs(valid) do
  local id, at, name, mark = ids[index], starts[index], lane_names[index], marks[index]
  local token, verdict, wait, schedule = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local lane = lane_of(name)
  local isHinted = byte(mark) == MARKBYTE.hinted
  local signal, error = '', ''
  if isLong[index] then
    verdict = string.lower(verdict)
    error, signal = ARGV[at + 6], ARGV[at + 7]
  end
  -- A request with a later deadline joined during the lease. The old deadline closes nothing; poll again.
  local isExtended = verdict == VERDICT.close and wait == CLOSED.expired
    and (isHinted and number(call('HGET', items .. id, ITEM.deadline) or 0) > wall or extend_deadline_over_gap(id))
  -- A request with a further goal than the one reached joined during the lease. The next poll reports the observed
  -- status.
  local hasLaterGoal = verdict == VERDICT.close and wait == CLOSED.reached and isHinted
    and call('HGET', items .. id, OPTION.goal) ~= GOAL.leftPending
  if isExtended or hasLaterGoal then
    verdict, wait = VERDICT.next, 0
  elseif isLong[index] then
    if ARGV[at + 9] ~= '0' then
      record(id, ARGV[at + 10], ARGV[at + 11], ARGV, at + 16, at + 15 + 2 * ARGV[at + 9], ARGV[at + 12])
      has_events = true
    else
      if ARGV[at + 10] ~= '' then log_attempt(id, ARGV[at + 10], ARGV[at + 11]) end
      if ARGV[at + 12] ~= '' then call('HSET', items .. id, ITEM.payment, ARGV[at + 12]) end
    end
    if ARGV[at + 13] ~= '' then call('HSETNX', items .. id, ITEM.secret, ARGV[at + 13]) end
    if ARGV[at + 15] ~= '' then add_to_index(id, ARGV[at + 15]) end
    if ARGV[at + 14] ~= '' and verdict ~= VERDICT.close then remove_covered_hint(items .. id, token) end
  end
  if signal ~= '' then
    apply_signal(lane, signal, number(ARGV[at + 8]))
  elseif lane.failures or lane.failingSince or lane.lastFailure then
    for _, field in ipairs({ LANE.failures, LANE.lastFailure, LANE.openings, LANE.failingSince,
      LANE.denials }) do set(lane, field, nil) end
    lane.isFailing, lane.isSilent, lane.isDenied = nil, nil, nil
  end

  local due
  local reason = wait ~= '' and wait or CLOSED.settled
  local isReopened = verdict == VERDICT.close
    and has_uncovered_hint(items .. id, token, reason, isLong[index] and ARGV[at + 14] ~= '', ARGV[at + 5])
  if isReopened or (isHinted and verdict ~= VERDICT.close) then
    due, schedule = now, URGENT
  elseif verdict == VERDICT.next then
    due = now + wait
  elseif verdict == VERDICT.nextRounded then
    due = ceil((now + wait) / DUE_GRID) * DUE_GRID
  end
  if due then
    if hasLaterGoal then
      call('HSET', items .. id, ITEM.token, token)
    else
      call('HSET', items .. id, ITEM.token, token, ITEM.state, ARGV[at + 5])
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
    call('HSET', items .. id, ITEM.token, token, ITEM.state, ARGV[at + 5], ITEM.closed, reason)
    closed[#closed + 1] = wall
    closed[#closed + 1] = id
    if reason == CLOSED.dead then
      dead[#dead + 1] = wall
      dead[#dead + 1] = id
    end
  end
  -- The mark says that an error is stored among the long values, so a success without one needs no read.
  if error == KEEP.error then
    -- A dead letter keeps its reason, regardless of later results.
  elseif error ~= '' then
    call('HSET', key(KEY.long, id), LONG.error, error)
    call('HSET', items .. id, ITEM.hasError, 1)
  elseif byte(mark, 2) == MARKBYTE.hasError then
    call('HDEL', key(KEY.long, id), LONG.error)
    call('HDEL', items .. id, ITEM.hasError)
  end
  if byte(mark, 3) == MARKBYTE.crashed then call('HDEL', items .. id, ITEM.crashes) end
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
local reply, earliest = {}, nil
if isClaiming then
  reply = { int(wall), '-1', 0, {} }
  reply[3], earliest = recover(now, number(ARGV[3]))
  claim(ARGV, now, back, gap, reply)
end
save_lanes(now)
if isClaiming then
  reply[2] = next_ready(back, earliest)
else
  wake_if_earlier(before)
end
return { results, reply }
