#!lua flags=allow-oom
-- Commits the results of leases, each only while the lease is valid. Then claims due items, if requested.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     the owner with the values of the claim, if one is requested (ClaimField in ScriptCodes.swift); the list of
--          commits (CommitField). Both are MessagePack with names. Then two values for each event of the commits, in
--          order: the JSON, and the same packed (PackedEvent.swift) or '' to store the JSON. Lua hashes every byte of a
--          string, so within the list it would hash them twice
-- RETURNS  claim.lua's reply with the results: for each commit 1 (recorded, now or before) or 0 (LEASELOST: nothing
--          written; or a key of the item is damaged, and its lease ends by itself)
-- USES     lib_texts, lib_created_index, lib_reopen, lib_results, lib_search_index, lib_recover, lib_claim
-- ERRORS   BADSEQ: events do not follow the last one; nothing of the batch is written
-- COST     one HSET for an unchanged item, two commands for a closed one, six for a change with its event and one more
--          for a new search entry; everything else once per batch, per lane or per leaf of the index by creation
--
-- All commits are checked before the first write, so an error leaves no partial result. A damaged log of one item, or
-- another damaged key next to its record, does not stop the others. Token and owner at the start of the lease authorize
-- a commit: an owner whose lease has expired or was taken over changes nothing (0). A commit repeated after a lost
-- reply finds no lease, and its own token in the item: committed before (1). This script appends the events to the
-- outbox and the item's log and publishes them, together with the state they report. Of an item's writes, those that
-- can fail come first. Marks set during the lease override the verdict: a hinted item is due now, regardless of the
-- result. An outdated one is too, and its result is dropped: the poll did not know an order, a charge or an act that a
-- request has added since. An item closed by a poll that may have missed the change of a hint is reopened for it at
-- once, as in hint.lua.

-- The multiple, ms, to which due times are rounded up on request. Items that become due together are started by one
-- wake-up of their worker, which costs as much as several polls.
local DUE_GRID = 32

local request, commits = cmsgpack.unpack(ARGV[1]), cmsgpack.unpack(ARGV[2])
local NOTHING = {}
local items, owner_suffix = key(KEY.item), ' ' .. request.owner .. ' '
local now, wall, back, gap = clocks_and_gap()
local isClaiming = request.limit ~= nil
local before = not isClaiming and head_of_partition() or nil

local results, valid, seen, marks, lane_names, stored, ids = {}, {}, {}, {}, {}, {}, {}
-- The first event of each commit among the arguments, and that of the next one.
local events_at, next_event = {}, 3
for index, commit in ipairs(commits) do ids[index] = commit.id end
local leases = #ids > 0 and call('HMGET', key(KEY.leases), unpack(ids)) or {}
for index, commit in ipairs(commits) do
  local id, token, lease = commit.id, commit.token, leases[index]
  results[index] = 0
  if commit.events then
    events_at[index] = next_event
    next_event = next_event + 2 * commit.events
  end
  if not lease then
    -- The item has no lease. If it has our token, an earlier attempt of this commit succeeded.
    if call('HGET', items .. id, ITEM.token) == token then results[index] = 1 end
  else
    local lease_prefix = token .. owner_suffix
    local length = #lease_prefix
    if sub(lease, 1, length) == lease_prefix then
      results[index] = 1
      -- The same commit twice in one batch counts once.
      if not seen[id] then
        seen[id] = true
        if commit.events or commit.secret or commit.entries then
          -- Everything that the commit must know of the item is read at once.
          local w = call('HMGET', items .. id, ITEM.seq, ITEM.metadata, ITEM.pendingHint, ITEM.secret, ITEM.terms,
            ITEM.words, ITEM.moreWords, ITEM.lane, ITEM.began)
          if commit.events and commit.seq ~= number(w[1] or 0) + 1 then
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

local has_events, finished, released_slots, closed, dead, closed_entries = false, {}, {}, {}, {}, {}
local due_items = { [KEY.urgent] = {}, [KEY.normal] = {} }
-- Writes the result of a valid commit. Once the item is written, nothing here can fail.
local function write_result(index)
  local commit, name, mark = commits[index], lane_names[index], marks[index]
  local id, token, state = commit.id, commit.token, commit.state
  local item, lane = items .. id, lane_of(name)
  local verdict, reason = commit.verdict or VERDICT.next, commit.reason or CLOSED.settled
  local isHinted, isClosing = is_hinted(mark), verdict == VERDICT.close
  -- A charge that the poll has made is recorded all the same. Made again, it would have another idempotency key. An item
  -- that has ended several workers is not given to another one.
  local isOutdated = byte(mark) == MARKBYTE.outdated and not commit.hasCharged and reason ~= CLOSED.dead
  -- A request with a later deadline joined during the lease. The old deadline closes nothing; poll again.
  local isExtended = isClosing and reason == CLOSED.expired
    and (isHinted and bounded(call('HGET', item, ITEM.deadline), 0) > wall or extend_deadline_over_gap(item, gap))
  -- A request with a further goal than the one reached joined during the lease. The next poll reports the observed
  -- status.
  local hasLaterGoal = isClosing and reason == CLOSED.reached and isHinted and not commit.hasCharged
    and call('HGET', item, OPTION.goal) ~= GOAL.leftPending
  -- Fields to write with the token and the state, each followed by its value; and, once read, the pending hint, the lane
  -- and the creation time of the item.
  local values, hint, item_lane, began = NOTHING, nil, nil, nil
  if isOutdated or isExtended or hasLaterGoal then
    verdict, isClosing = VERDICT.next, false
  else
    local w = stored[index]
    if w or commit.payment then values = {} end
    if w and commit.entries then index_item(id, w[5], w[6], w[7], commit.entries, values) end
    if commit.events then
      local first = events_at[index]
      add(values, ITEM.seq, record_events(id, name, w[2], commit.seq, commit.channel, ARGV, first,
        first + 2 * commit.events - 1))
      has_events = true
    elseif commit.attempt then
      log_attempt(id, commit.attempt, commit.attemptMs)
    end
    if commit.payment then add(values, ITEM.payment, commit.payment) end
    if w then
      hint, item_lane, began = w[3], w[8], w[9]
      -- The first secret is kept.
      if commit.secret and not w[4] then add(values, ITEM.secret, commit.secret) end
    end
    if not w and (verdict ~= VERDICT.next or commit.seesMoney) then
      local read = call('HMGET', item, ITEM.pendingHint, ITEM.lane, ITEM.began)
      hint, item_lane, began = read[1], read[2], read[3]
    end
    if commit.seesMoney and not isClosing and hint and sub(hint, 2) ~= token then
      call('HDEL', item, ITEM.pendingHint)
    end
  end
  if commit.signal then
    apply_signal(lane, commit.signal, commit.signalMs, commit.isEndpoint, now, wall)
  elseif lane.failures or lane.failingSince or lane.lastFailure then
    end_failures(lane)
  end

  local due, schedule
  local isReopened = isClosing
    and has_uncovered_hint(hint, item, token, reason, commit.seesMoney, commit.payment, state)
  if isReopened or (isHinted and not isClosing) then
    due, schedule = now, URGENT
  elseif verdict == VERDICT.next then
    local due_at = now + (commit.waitMs or 0)
    if commit.isDueRounded then due_at = ceil(due_at / DUE_GRID) * DUE_GRID end
    due, schedule = due_at, commit.isUrgent and URGENT or NORMAL
  end
  if due then
    if isOutdated or hasLaterGoal then
      call('HSET', item, ITEM.token, token)
    else
      call('HSET', item, ITEM.token, token, ITEM.state, state, unpack(values))
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
    call('HSET', item, ITEM.token, token, ITEM.state, state, ITEM.closed, reason, unpack(values))
    closed[#closed + 1] = wall
    closed[#closed + 1] = id
    if item_lane then closed_entries[#closed_entries + 1] = created_entry(id, item_lane, began) end
    if reason == CLOSED.dead then
      dead[#dead + 1] = wall
      dead[#dead + 1] = id
    end
  end
  -- The mark says that an error is stored among the long values, so a success without one needs no read. If the key of
  -- the long values is damaged, only the error is lost.
  local error = commit.error
  if error == KEEP.error then
    -- A dead letter keeps its reason, regardless of later results.
  elseif error then
    if number(redis.pcall('HSET', key(KEY.long, id), LONG.error, error)) then call('HSET', item, ITEM.hasError, 1) end
  elseif byte(mark, 2) == MARKBYTE.hasError then
    redis.pcall('HDEL', key(KEY.long, id), LONG.error)
    call('HDEL', item, ITEM.hasError)
  end
  if byte(mark, 3) == MARKBYTE.crashed then call('HDEL', item, ITEM.crashes) end
  released_slots[name] = (released_slots[name] or 0) + 1
  finished[#finished + 1] = id
end
local errors = nil
for _, index in ipairs(valid) do
  local isWritten, why = pcall(write_result, index)
  if not isWritten then
    errors = errors or {}
    errors[#errors + 1] = ids[index] .. ': ' .. tostring(type(why) == 'table' and why.err or why)
    for other, id in ipairs(ids) do
      if id == ids[index] then results[other] = 0 end
    end
  end
end

if #finished > 0 then
  call('ZREM', key(KEY.leaseEnds), unpack(finished))
  call('HDEL', key(KEY.leases), unpack(finished))
end
if #closed > 0 then
  call('ZADD', key(KEY.closed), unpack(closed))
  move_all_created(closed_entries, true)
end
if #dead > 0 then call('ZADD', key(KEY.quarantine), unpack(dead)) end
for schedule, by_lane in pairs(due_items) do
  for name, list in pairs(by_lane) do add_to_schedule(name, schedule, list, list.earliest) end
end
for name, count in pairs(released_slots) do
  update_circuit(lane_of(name), now)
  release_slots(name, count)
end
if has_events then call('PUBLISH', N .. CHANNEL.recorded, match(P, '%d+')) end

-- The claimer learns of due items from the reply. Lanes are stored once for commit and claim.
local reply, claimed, first_lease = { results = results, errors = errors }, {}, nil
if isClaiming then
  reply.now, reply.fullLanes = wall, {}
  reply.recovered, first_lease = recover(now)
  claimed = claim(request, now, back, gap, reply.fullLanes)
end
save_lanes(now)
if isClaiming then
  reply.nextReady = next_ready(back, first_lease, claimed[1] and now + request.leaseMs)
else
  wake_if_earlier(before)
end
return cmsgpack.pack(reply, claimed)
