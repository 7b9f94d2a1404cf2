#!lua
-- Accepts watches: starts new ones, restarts closed ones, joins open ones.
--
-- If a request names another order than the open watch of its source, nothing of the call is written: the watch would
-- keep its order, and the other order would never have a payment. The step `separate` joins requests of several callers,
-- so it refuses that request alone.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     the operation (STEP); then for each request the number of its values, and each value after its name
--          (EnqueueField in ScriptCodes.swift, and WatchOption). A check needs id, source, lane and order
-- RETURNS  for each request {outcome (OUTCOME), run, seq, order of the watch or '', the result of read_item
--          (lib_read_item.lua), if the watch is read}. A watch is read by the steps `read` and `separate`, and when a
--          request with an order joins it. tooManyURLs: nothing of this request was written. notTried: nothing of the call was written
-- ERRORS   IDCLASH: another source has this id; nothing of the call is written. The same for a watch whose run, seq or
--          deadline is damaged
-- USES     lib_texts, lib_created_index, lib_search_index, lib_compacted_events, lib_read_item
-- COST     one read and one write for a new watch, one more if it has a long value, one per entry in the search index,
--          two or three per former entry of a restarted watch, one read for a restart with the same order, three writes
--          per lane and about three per hundred new watches. For a watch that is read and is not new, the reads of
--          read_item
local now, wall, back = clocks()
local step = ARGV[1]
local requests, found, is_rejected = {}, {}, false

-- Returns the fields that decide the outcome: {source, closed, run, seq, deadline, lane, goal, reopenedSeq, order}.
local function read_watch(id)
  return call('HMGET', key(KEY.item, id), ITEM.source, ITEM.closed, ITEM.run, ITEM.seq, ITEM.deadline,
    ITEM.lane, OPTION.goal, ITEM.reopenedSeq, ITEM.order)
end

-- Returns the order of a watch if it is open and the request names another one; false otherwise.
local function other_order(w, new)
  return w[1] and not w[2] and new.order and w[9] and w[9] ~= new.order and w[9]
end

local function result(outcome, w) return { outcome, number(w[3] or w[1] and 1 or 0), number(w[4] or 0), w[9] or '' } end

local at = 2
while ARGV[at] do
  local new, last = {}, at + 2 * number(ARGV[at])
  for name = at + 1, last, 2 do new[ARGV[name]] = ARGV[name + 1] end
  -- Most sources are new, and one field shows that.
  local w = call('HGET', key(KEY.item, new.id), ITEM.source) and read_watch(new.id) or {}
  if w[1] and w[1] ~= new.source then
    return redis.error_reply(ERROR.idClash .. ' ' .. new.id .. ' is the id of another source')
  end
  -- Later, it would stop the script between two writes, and other requests of the call would have no due time.
  if w[1] and not (number(w[3] or 1) and number(w[4] or 0) and (w[2] or number(w[5] or ''))) then
    return redis.error_reply('ERR the run, seq or deadline of ' .. new.id .. ' is no number')
  end
  is_rejected = is_rejected or other_order(w, new)
  requests[#requests + 1], found[#found + 1] = new, w
  at = last + 1
end
if is_rejected and step ~= STEP.separate or step == STEP.check then
  local replies = {}
  for n, new in ipairs(requests) do
    replies[n] = result(other_order(found[n], new) and OUTCOME.otherOrder or OUTCOME.notTried, found[n])
  end
  return replies
end

local function merged(old, new)
  if not old or old == '' then return new end
  local seen, lines = {}, {}
  for line in string.gmatch(old .. '\n' .. new, '[^\n]+') do
    if not seen[line] then
      seen[line] = true
      lines[#lines + 1] = line
    end
  end
  return #lines <= NOTIFY.max and table.concat(lines, '\n') or nil
end

-- Adds notify URLs to those of an item. Returns false, and writes nothing, if there would be too many. The text written
-- here is not abbreviated, but may be short enough as it is.
local function join_notify(id, notify)
  local known = notify_of(id, call('HGET', key(KEY.item, id), ITEM.notify))
  local combined = merged(known, is_short(notify) and expand(sub(notify, 2)) or notify)
  if not combined then return false end
  if combined == known then return true end
  local mark = is_short(notify) and #combined <= SHORT.max and SHORT.markText or ''
  replace_text(id, known and mark .. combined or notify, ITEM.notify, LONG.notify)
  return true
end

-- The order of goals. A watch without one is followed until it is settled.
local GOAL_RANK = { [GOAL.leftPending] = 1, [GOAL.final] = 3 }

-- Merges the options of a request into those of an open watch (WatchOption); `goal` is that of the watch. Returns
-- whether the watch got an act before a deadline.
local function join_options(item, goal, new)
  local adds_act = false
  for _, option in ipairs(OPTIONS.keptFromFirst) do
    local is_new = new[option] and call('HSETNX', item, option, new[option]) == 1
    -- A poll in flight need not know the trace.
    if is_new and option ~= OPTION.trace then adds_act = true end
  end
  local requested = new[OPTION.goal]
  if (GOAL_RANK[requested] or 2) > (GOAL_RANK[goal] or 2) then
    if requested then call('HSET', item, OPTION.goal, requested) else call('HDEL', item, OPTION.goal) end
  end
  return adds_act
end

-- The charge in a state (WatchRecord) that has an id.
local MADE_CHARGE = '^[^|]*|[^|]*|[^|]*|[^|]*|[^|]*|[^|]*|([sp][^|]+)'

-- Adds the evidence of received money of a closed watch, and its charge, to the values of a restart for the same order:
-- it must not be charged again, and a duplicate stays one. The first three values of a stored payment (PaymentMemory),
-- the last report, become empty, so that the new run reports the payment. The fourth is the received sum. An unknown sum
-- is a mark in the ninth.
local function keep_evidence(item, values)
  local former = call('HMGET', item, ITEM.payment, ITEM.state)
  local sum, rest = match(former[1] or '', '^[^|]*|[^|]*|[^|]*|([^|]*)(.*)$')
  if not sum or sum == '' and not find(rest, '^|[^|]*|[^|]*|[^|]*|[^|]*|[^|]*u') then return end
  add(values, ITEM.payment, '|||' .. sum .. rest)
  local charge = match(former[2] or '', MADE_CHARGE)
  if charge then add(values, ITEM.state, '|0|0|0||0|' .. charge) end
end

local before = head_of_partition()
local replies, written, due_by_lane, is_marked = {}, {}, {}, false
-- The entries of new watches in the index by creation; and, by id, {hash, long values} of the watches that are new and
-- have not been joined since.
local created, fresh = {}, {}
for n, new in ipairs(requests) do
  local id, lane, order, entries = new.id, new.lane, new.order, new.entries
  local notify, secret, metadata, charge = new.notify or '', new.secret or '', new.metadata or '', new.charge or ''
  local deadline = wall + number(new.timeout)
  local item = key(KEY.item, id)
  local w = found[n]
  -- The same source twice in one call: the second joins the first.
  if written[id] then w, fresh[id] = read_watch(id), nil end
  local outcome = OUTCOME.joined
  if not w[1] or w[2] then
    outcome = w[1] and OUTCOME.restarted or OUTCOME.created
    local run = number(w[3] or w[1] and 1 or 0) + 1
    local values = { ITEM.source, new.source, ITEM.lane, lane, ITEM.began, int(wall), ITEM.deadline, int(deadline) }
    local long = {}
    if run > 1 then add(values, ITEM.run, run) end
    for _, option in ipairs(OPTIONS.all) do
      if new[option] then add(values, option, new[option]) end
    end
    if order then add(values, ITEM.order, order) end
    set_text(notify, values, ITEM.notify, long, LONG.notify)
    set_text(metadata, values, ITEM.metadata, long, LONG.metadata)
    set_text(secret, values, ITEM.secret, long, LONG.private)
    if charge ~= '' then add(long, LONG.charge, charge) end
    if charge ~= '' or is_long(secret) then add(values, ITEM.hasLong, charge ~= '' and '2' or '1') end
    if w[1] then
      if order and order == w[9] then keep_evidence(item, values) end
      -- The entries of the former run would take the room of the new ones. The amount is found again from the first
      -- event on.
      remove_from_index(id)
      call('HDEL', item, ITEM.closed, ITEM.hinted, ITEM.state, ITEM.hasError, ITEM.crashes,
        ITEM.reopenedSeq, ITEM.endedAs, ITEM.pendingHint, ITEM.payment, ITEM.secret, ITEM.hasLong,
        ITEM.order, ITEM.notify, ITEM.metadata, ITEM.terms, ITEM.words, ITEM.moreWords, unpack(OPTIONS.all))
      call('DEL', key(KEY.long, id))
      call('ZREM', key(KEY.closed), id)
      call('ZREM', key(KEY.quarantine), id)
      restart_created(id, w[6], call('HGET', item, ITEM.began), wall)
    else
      created[#created + 1] = created_entry(id, lane, wall)
      if entries then index_item(id, nil, nil, nil, entries, values) end
      entries, fresh[id] = nil, { values, long }
    end
    call('HSET', item, unpack(values))
    if #long > 0 then call('HSET', key(KEY.long, id), unpack(long)) end
    due_by_lane[lane] = due_by_lane[lane] or {}
    local list = due_by_lane[lane]
    list[#list + 1] = int(now)
    list[#list + 1] = id
    w[3], w[9] = run, order
  elseif other_order(w, new) then
    outcome, entries = OUTCOME.otherOrder, nil
  elseif notify ~= '' and not join_notify(id, notify) then
    outcome, entries = OUTCOME.tooManyURLs, nil
  else
    -- The watch stays in its lane, regardless of the lane in this request.
    lane = w[6]
    if deadline > number(w[5]) then call('HSET', item, ITEM.deadline, int(deadline)) end
    -- A request now needs the watch, no longer only the hint that reopened it.
    if w[8] then call('HDEL', item, ITEM.reopenedSeq) end
    local is_outdated = join_options(item, w[7], new)
    if metadata ~= '' then replace_text(id, metadata, ITEM.metadata, LONG.metadata) end
    if secret ~= '' then replace_text(id, secret, ITEM.secret, LONG.private) end
    -- A request that joins does not change the order of the watch.
    if order and not w[9] then
      call('HSET', item, ITEM.order, order)
      w[9], is_outdated = order, true
    end
    -- The first charge instruction is kept: a second one must not change the meaning of its idempotency key. One for
    -- no charge has no key, and is replaced.
    if call('HGET', item, ITEM.hasLong) == '2'
      and (charge == 'false' or call('HGET', key(KEY.long, id), LONG.charge) ~= 'false') then
      charge = ''
    elseif charge ~= '' or is_long(secret) then
      call('HSET', item, ITEM.hasLong, charge ~= '' and 2 or 1)
    end
    if charge ~= '' then call('HSET', key(KEY.long, id), LONG.charge, charge) end
    if charge ~= '' and charge ~= 'false' then is_outdated = true end
    local lease = call('HGET', key(KEY.leases), id)
    if lease then
      -- A poll in flight that knows no order, charge or act must not record its result (commit.lua).
      is_marked = mark_lease(id, lease, is_outdated) or is_marked
    elseif number(call('ZSCORE', key(NORMAL, lane), id)
      or call('ZSCORE', key(URGENT, lane), id) or now) > now then
      make_due(id, lane, now)
    end
  end
  if entries then add_to_index(id, entries) end
  written[id] = true
  replies[n] = result(outcome, w)
end
-- A join may have written nothing. This write lets the caller wait for replicas.
if not next(due_by_lane) then call('HSET', KEYS[1], META.joined, int(now)) end
for lane, list in pairs(due_by_lane) do
  call('ZADD', key(KEY.knownLanes), '0', lane)
  add_to_schedule(lane, URGENT, list)
end
add_all_created(KEY.openCreated, created)
save_lanes(now)
if is_marked then notify_lease_owners() end
wake_if_earlier(before)
local reads = step == STEP.read or step == STEP.separate
for n, new in ipairs(requests) do
  if reads or new.order and replies[n][1] == OUTCOME.joined then
    local values = fresh[new.id]
    replies[n][5] = values and { values[1], values[2], '', int(now - back), '' } or read_item(new.id, back)
  end
end
return replies
