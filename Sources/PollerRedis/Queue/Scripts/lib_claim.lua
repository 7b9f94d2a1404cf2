-- Preface of the scripts that claim items: the claim of claim.lua and commit.lua.
--
-- Goal: the cost of a claim depends on the items claimed, not on the size of the partition. Two sorted sets (urgent and
-- normal) hold the lanes by the time at which they are worth a claim. Lanes that are held, paused, at their limit or
-- not due are therefore never read. Every change of a lane writes its new time.
--
-- Order: lanes are served by how long they have waited, first a fair share of the claim each and then more, so a lane
-- with a million items delays no other lane. Urgent items come before normal ones, four to one. A lane's limit is a
-- GCRA (one number: when the next start would be due) and a count of the items in flight.
--
-- Atomicity: in this one script an item leaves its schedule, gets a lease, and counts in its lane. If the owner dies,
-- its lease expires, and the next claim puts the item back into its schedule. A lost reply has the same effect, so a
-- claim is never repeated to get its reply (lib_recover.lua).
--
-- The decisions: 0002-leases, 0003-schedule, 0005-rate-limits-and-circuits.

-- How old `seen` may be, ms. A clock that is set back can cost this much. A shorter interval would make an idle store
-- write more often.
local SEEN_INTERVAL = 2000
-- A gap that begins within this time after another one extends it, ms.
local GAP_MERGE_SPAN = 600000

-- Returns the clocks, corrected for changes since the last claim, and the gap. The gap is the last span without a
-- claim: {ms, wall clock time of its end}.
--
-- Deadlines that passed in the gap have not been checked by a poll: see commit.lua, purge.lua, trim.lua.
local function clocks_and_gap()
  local wall = clock()
  local m = call('HMGET', M, META.back, META.seen, META.gap, META.gapEnd, META.gapsSum, META.split, META.splitting)
  check_layout(m[6])
  stage = m[7]
  local back, seen = number(m[1] or 0), number(m[2])
  local now, gap = wall + back, { number(m[3] or 0), number(m[4] or 0) }
  local gaps = number(m[5] or 0)
  if seen and now < seen then
    back = back + seen - now
    now = seen
    call('HSET', M, META.back, int(back))
    if gap[2] > wall then
      -- The part of the gap that is now in the future has not passed.
      local future_part = min(gap[1], gap[2] - wall)
      gap = { gap[1] - future_part, wall }
      gaps = max(gaps - future_part, 0)
      call('HSET', M, META.gap, int(gap[1]), META.gapEnd, int(wall), META.gapsSum, int(gaps))
    end
  elseif seen and now - seen > GAP_MIN then
    -- Older gaps fade, so that nights without processes do not add up without limit.
    gaps = now - seen + gaps * max(0, 1 - (wall - gap[2]) / GAPS_RETENTION)
    -- A pause soon after a gap extends it: not every item was polled in between.
    local first = wall - (now - seen)
    if first - gap[2] < GAP_MERGE_SPAN then first = min(first, gap[2] - gap[1]) end
    gap = { wall - first, wall }
    call('HSET', M, META.gap, int(gap[1]), META.gapEnd, int(wall), META.seen, int(now),
      META.gapsSum, int(gaps))
  elseif not seen or now - seen >= SEEN_INTERVAL then
    call('HSET', M, META.seen, int(now))
  end
  gap.sum = gaps
  return now, wall, back, gap
end

-- Claims due items for a request (ClaimField), and returns their leases, each as a list of values (LeaseValue). The names
-- of lanes without a free slot are added to `full_lanes`.
local function claim(request, now, back, gap, full_lanes)
  -- A partition that is being split grants no leases. Existing leases are still committed or recovered.
  if stage then return {} end
  local owner, limit, horizon = request.owner, request.limit, now + request.aheadMs
  local claimed, taken, suspects, isFull = {}, 0, false, false
  local leases, ends, lease_end = {}, {}, text(now + request.leaseMs)
  local latest = text(horizon)
  local items = key(KEY.item)
  -- By schedule, the turn of each ready lane once it has been served.
  local turns = {}

  -- Claims up to `quota` items of one schedule of a lane; returns their number.
  local function serve(name, schedule, quota)
    local lane = lane_of(name)
    rescored[schedule][name] = true
    if lane.paused then return 0 end
    local factor = factor_of(lane, now)
    local base_interval = (lane.intervalUs or request.intervalUs) / 1000
    local interval, tolerance = base_interval / factor, ((lane.burst or request.burst) - 1) * base_interval
    local in_flight_max = max(1, floor((lane.inFlightMax or request.inFlightMax) * factor))
    if (lane.failures or 0) >= FAILURES_MAX then in_flight_max = 1 end
    -- GCRA: `arrival` is the theoretical arrival time of the next start. It may be ahead of the start by burst - 1
    -- intervals.
    local ids, arrival, isBlocked = {}, lane.arrival or 0, false
    local capacity = min(quota, in_flight_max - (lane.inFlight or 0))
    if interval > 0 then
      capacity = min(capacity, floor((horizon + tolerance - max(arrival, now)) / interval) + 1)
    end
    if capacity > 0 then
      local due = call('ZRANGE', key(schedule, name), '-inf', latest, 'BYSCORE', 'LIMIT', '0', capacity, 'WITHSCORES')
      for at = 1, #due, 2 do
        local id = due[at]
        local due_at = number(due[at + 1])
        local earliest = max(due_at, now, lane.heldUntil or 0)
        local start = max(earliest, interval > 0 and ceil(arrival - tolerance) or 0)
        if start > horizon then break end
        local w = call('HGETALL', items .. id)
        local token, marks, crashes, private = 1, '-', 0, ''
        for field = 1, #w, 2 do
          local name = w[field]
          if name == ITEM.token then
            token = bounded(w[field + 1], 0) + 1
          elseif name == ITEM.hasError then
            marks = MARK.hasError
          elseif name == ITEM.crashes then
            crashes = bounded(w[field + 1], 0)
          elseif name == ITEM.hasLong then
            local long = call('HMGET', key(KEY.long, id), LONG.private, LONG.charge)
            private = (long[1] or '') .. (long[2] and '\n' .. long[2] or '')
          end
        end
        if #w == 0 then
          -- The item is gone; only its entry in the schedule is left.
          call('ZREM', key(schedule, name), id)
          rescore(lane)
        elseif crashes >= 2 and taken > 0 and (crashes >= 3 or taken >= 8) then
          -- Suspects are claimed in small batches, then alone, to find the one that kills its worker. This one waits
          -- with the items behind it. Its lane stays ahead of the others.
          isBlocked = true
          break
        else
          leases[#leases + 1] = id
          leases[#leases + 1] = pack_lease(token, owner,
            '-' .. marks .. (crashes > 0 and MARK.crashed or '-'), schedule, due[at + 1], name)
          ends[#ends + 1] = lease_end
          ends[#ends + 1] = id
          -- The last two values are false and 0 for a lane without failures. Time without claims does not count against
          -- an endpoint. The time of an upstream's first failure is not stored, so for its lanes the reply reports only
          -- that the circuit is open.
          local failing_since = lane.failingSince
          if failing_since and failing_since < gap[2] then failing_since = min(failing_since + gap.sum, gap[2]) end
          if not failing_since and (lane.failures or 0) >= FAILURES_MAX then failing_since = 0 end
          claimed[#claimed + 1] = { id, token, due_at - back, start - back, name, private, w,
            failing_since or false, lane.failures or 0 }
          ids[#ids + 1] = id
          taken = taken + 1
          if interval > 0 then arrival = max(arrival, start) + interval end
          suspects = suspects or crashes >= 2
          isFull = crashes >= 3 or (suspects and taken >= 8)
          if isFull then break end
        end
      end
    end
    if #ids > 0 then
      call('ZREM', key(schedule, name), unpack(ids))
      if not isBlocked then set(lane, TURN[schedule], turns[schedule][name]) end
      if schedule == NORMAL then lane.hasNormal = true end
      -- A lane whose items are all in flight stays listed in the normal schedule.
      if not lane.inFlight or lane.inFlight == 0 then rescored[NORMAL][name] = true end
      set(lane, LANE.inFlight, (lane.inFlight or 0) + #ids)
      if interval > 0 then
        set(lane, LANE.arrival, arrival)
        set(lane, LANE.notBefore, arrival - tolerance)
      end
    end
    if (lane.inFlight or 0) >= in_flight_max and not lane.parked then
      set(lane, LANE.parked, 1)
      rescore(lane)
      full_lanes[#full_lanes + 1] = name
    end
    return #ids
  end

  local isNormalFirst = false

  -- Serves the ready lanes of one schedule in turn, first a fair share each and then more, until `count_max` items are
  -- claimed; returns their number.
  local function serve_all(ready, schedule, count_max)
    local claimed_count = 0
    local waiting = {}
    for at, name in ipairs(ready) do waiting[at] = name end
    while #waiting > 0 and claimed_count < count_max and not isFull do
      local fair_share = max(1, ceil((count_max - claimed_count) / #waiting))
      local next_round = {}
      for _, name in ipairs(waiting) do
        local quota = min(fair_share, count_max - claimed_count)
        if quota == 0 or isFull then break end
        -- A lane's limit is shared by its two schedules. Without this, its urgent items would use all of it.
        if isNormalFirst and schedule == URGENT and not lane_of(name).hasNormal then
          claimed_count = claimed_count + serve(name, NORMAL, 1)
          quota = min(quota, count_max - claimed_count)
        end
        local count = quota > 0 and serve(name, schedule, quota) or 0
        claimed_count = claimed_count + count
        if count == quota then next_round[#next_round + 1] = name end
      end
      waiting = next_round
    end
    return claimed_count
  end

  -- Returns the lanes to claim from, the longest waiting first.
  local function ready(schedule)
    -- A score within the last millisecond is ready: its fraction only keeps the order of the lanes.
    local stored, scores, found = {}, {}, {}
    -- Urgent lanes are rare, and a claim without results mostly finds nothing: the first score, which next_ready needs
    -- too, says so.
    local isMostlyEmpty = schedule == URGENT or not next(gained[NORMAL])
    if not isMostlyEmpty or (first_score(schedule) or math.huge) < (horizon + 1) * 1000 then
      stored = call('ZRANGE', key(READY[schedule]), '-inf', '(' .. text((horizon + 1) * 1000),
        'BYSCORE', 'LIMIT', '0', '64', 'WITHSCORES')
    end
    for at = 1, #stored, 2 do
      found[#found + 1], scores[stored[at]] = stored[at], number(stored[at + 1])
    end
    -- Lanes that this script has changed are not stored yet, or are stored with an outdated score.
    local isChanged = false
    for name in pairs(rescored[schedule]) do
      isChanged = true
      local lane = lanes[name]
      local head = not lane.paused and not lane.parked and head_of(name, schedule)
      local score = head and score_of(lane, schedule, head) or math.huge
      if not scores[name] then found[#found + 1] = name end
      scores[name] = score
    end
    -- For lanes that have only gained items, the stored score is valid unless one of the new items is earlier.
    for name, due in pairs(gained[schedule]) do
      local lane = lanes[name]
      if not rescored[schedule][name] and due < math.huge and not lane.paused and not lane.parked then
        local score = score_of(lane, schedule, due)
        if score < (scores[name] or (horizon + 1) * 1000) then
          isChanged = true
          if not scores[name] then found[#found + 1] = name end
          scores[name] = score
        end
      end
    end
    if isChanged then
      table.sort(found, function(a, b)
        return scores[a] < scores[b] or scores[a] == scores[b] and a < b
      end)
      while #found > 0 and scores[found[#found]] >= (horizon + 1) * 1000 do found[#found] = nil end
    end
    -- A lane that was served moves behind every lane that already waits, but not into the future: an item that becomes
    -- due in that lane is still due.
    local first, next_turns = now * 1000, {}
    for at, name in ipairs(found) do
      local score = scores[name]
      local isCurrent = score >= first and score < first + 1000
      next_turns[name] = (isCurrent and score or first) + at
    end
    turns[schedule] = next_turns
    return found
  end
  local urgent, normal = ready(URGENT), ready(NORMAL)
  if #urgent == 0 then
    serve_all(normal, NORMAL, limit)
  elseif #normal == 0 then
    serve_all(urgent, URGENT, limit)
  else
    -- Four to one: normal items get a fifth of each claim, and every fifth claim begins with them. So neither small
    -- claims nor a lane's own limit can starve them.
    local normal_quota = floor(limit / 5)
    local turn = call('HINCRBY', M, META.turn, 1)
    if turn % 5 == 0 then
      isNormalFirst = true
      serve_all(normal, NORMAL, normal_quota > 0 and normal_quota or limit)
    else
      serve_all(urgent, URGENT, limit - normal_quota)
      serve_all(normal, NORMAL, limit - taken)
    end
    if taken < limit then serve_all(urgent, URGENT, limit - taken) end
    if taken < limit then serve_all(normal, NORMAL, limit - taken) end
  end
  if #leases > 0 then
    call('HSET', key(KEY.leases), unpack(leases))
    call('ZADD', key(KEY.leaseEnds), unpack(ends))
  end
  return claimed
end

-- Returns when the partition is worth a claim again, by the wall clock: when its next lane is ready or its next lease
-- expires; nil for neither. `lease` is the end of the first lease before this claim, or nil. Leases that the claim
-- granted end at `granted`, nil for none. So the set of leases is not read again.
local function next_ready(back, lease, granted)
  if stage then return end
  local ready = head_of_partition()
  if lease and (not ready or lease < ready) then ready = lease end
  if granted and (not ready or granted < ready) then ready = granted end
  return ready and ready - back
end
