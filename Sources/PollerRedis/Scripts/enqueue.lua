#!lua
-- Accepts watches: new ones begin, closed ones begin again, open ones are joined.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     for each watch eleven values: id, source, facts (see WatchRecord), lane,
--          timeout ms, notify (URLs by newline), private part (client secret or ''),
--          metadata (JSON or empty), order to charge (JSON or empty), order that is paid or '',
--          entries in the index side by side
-- RETURNS  for each watch {outcome: created|restarted|joined, run, seq}
-- ERRORS   IDCLASH: another source has this id; nothing of the batch is written then
-- USES     searching
-- COST     one read and one write for a new watch, three writes a lane, and one an entry in the index
local now, wall = clocks()
local before = head_of_partition()
local found = {}
for at = 1, #ARGV, 11 do
  local id = ARGV[at]
  local w = call('HMGET', key(KEY.item, id), ITEM.source, ITEM.closed, ITEM.run, ITEM.seq,
    ITEM.deadline, ITEM.lane, ITEM.facts, ITEM.reopenedSeq)
  if w[1] and w[1] ~= ARGV[at + 1] then
    return redis.error_reply(ERROR.idClash .. ' ' .. id .. ' is the id of another source')
  end
  found[at] = w
end

local function merged(old, new)
  if not old or old == '' then return new end
  local seen, lines = {}, {}
  for line in string.gmatch(old .. '\n' .. new, '[^\n]+') do
    if not seen[line] and #lines < 64 then
      seen[line] = true
      lines[#lines + 1] = line
    end
  end
  return table.concat(lines, '\n')
end

-- How far a watch goes (see WatchRecord): of two requests the farther holds. What it does before a
-- deadline, and which trace it is of: of two that say something about the same the first holds.
local REACH = { [GOAL.leftPending] = 1, [GOAL.final] = 3 }
local ABOUT = {
  '[' .. ACT.capture .. ACT.release .. ACT.leaveHold .. ']',
  '[' .. ACT.abandon .. ACT.leaveAbandoned .. ']',
}
local function joined(old, new)
  local form = '^([^|]*)|?(%a?)|?(%a*)|?([%w_-]*)'
  local policy, reach, acts, trace = match(old, form)
  local _, asked, told, given = match(new, form)
  if trace == '' then trace = given end
  if (REACH[asked] or 2) > (REACH[reach] or 2) then reach = asked end
  local said = match(acts, PACE.auto) or ''
  for at = 1, #ABOUT do said = said .. (match(acts, ABOUT[at]) or match(told, ABOUT[at]) or '') end
  if trace ~= '' then return policy .. '|' .. reach .. '|' .. said .. '|' .. trace end
  if said ~= '' then return policy .. '|' .. reach .. '|' .. said end
  return reach ~= '' and policy .. '|' .. reach or policy
end

local replies, done, places, is_marked = {}, {}, {}, false
for at = 1, #ARGV, 11 do
  local id, source, facts, lane = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local deadline = wall + number(ARGV[at + 4])
  local notify, secret, metadata = ARGV[at + 5], ARGV[at + 6], ARGV[at + 7]
  local charge, order, terms = ARGV[at + 8], ARGV[at + 9], ARGV[at + 10]
  local w = found[at]
  local item = key(KEY.item, id)
  -- The same source twice in one batch: the second joins the first.
  if done[id] then
    w = call('HMGET', item, ITEM.source, ITEM.closed, ITEM.run, ITEM.seq,
      ITEM.deadline, ITEM.lane, ITEM.facts, ITEM.reopenedSeq)
  end

  local run, seq, outcome = number(w[3] or 0), number(w[4] or 0), OUTCOME.joined
  if not w[1] or w[2] then
    outcome = w[1] and OUTCOME.restarted or OUTCOME.created
    run = run + 1
    local values = { ITEM.source, source, ITEM.facts, facts, ITEM.lane, lane, ITEM.began, int(wall),
      ITEM.deadline, int(deadline), ITEM.run, run }
    if secret ~= '' or charge ~= '' then
      values[#values + 1] = ITEM.hasLong
      values[#values + 1] = charge ~= '' and 2 or 1
    end
    if order ~= '' then
      values[#values + 1] = ITEM.order
      values[#values + 1] = order
    end
    call('HSET', item, unpack(values))
    if w[1] then
      call('HDEL', item, ITEM.closed, ITEM.hinted, ITEM.state, ITEM.hasError, ITEM.formerCrashes,
        ITEM.crashes, ITEM.reopenedSeq, ITEM.endedAs, ITEM.news, ITEM.payment, ITEM.secret)
      if secret == '' and charge == '' then call('HDEL', item, ITEM.hasLong) end
      if order == '' then call('HDEL', item, ITEM.order) end
      call('DEL', key(KEY.long, id))
      call('ZREM', key(KEY.closed), id)
      call('ZREM', key(KEY.quarantine), id)
    end
    places[lane] = places[lane] or {}
    local list = places[lane]
    list[#list + 1] = int(now)
    list[#list + 1] = id
    if notify ~= '' then call('HSET', key(KEY.long, id), LONG.notify, notify) end
  else
    -- It stays in the lane it is in, whatever this request calls it.
    lane = w[6]
    if deadline > number(w[5]) then call('HSET', item, ITEM.deadline, int(deadline)) end
    -- It is no longer there for a hint's news alone.
    if w[8] then call('HDEL', item, ITEM.reopenedSeq) end
    local both = joined(w[7], facts)
    if both ~= w[7] then call('HSET', item, ITEM.facts, both) end
    if notify ~= '' then
      call('HSET', key(KEY.long, id), LONG.notify,
        merged(call('HGET', key(KEY.long, id), LONG.notify), notify))
    end
    -- What it pays is not changed by who joins.
    if order ~= '' then call('HSETNX', item, ITEM.order, order) end
    -- The first order to charge holds: a second one must not change what its key stands for. An
    -- order to charge nothing has no key, and gives way.
    if call('HGET', item, ITEM.hasLong) == '2'
      and (charge == 'false' or call('HGET', key(KEY.long, id), LONG.charge) ~= 'false') then
      charge = ''
    elseif secret ~= '' or charge ~= '' then
      call('HSET', item, ITEM.hasLong, charge ~= '' and 2 or 1)
    end
    local lease = call('HGET', key(KEY.leases), id)
    if lease then
      is_marked = mark_lease(id, lease) or is_marked
    elseif number(call('ZSCORE', key(REST, lane), id)
      or call('ZSCORE', key(URGENT, lane), id) or now) > now then
      make_due(id, lane, now)
    end
  end
  if metadata ~= '' then call('HSET', key(KEY.long, id), LONG.metadata, metadata) end
  if secret ~= '' then call('HSET', key(KEY.long, id), LONG.private, secret) end
  if charge ~= '' then call('HSET', key(KEY.long, id), LONG.charge, charge) end
  if terms ~= '' then add_to_index(id, terms) end
  done[id] = true
  replies[#replies + 1] = { outcome, run, seq }
end
-- What was joined may have written nothing: here is something that replicas can be waited for with.
if not next(places) then call('HSET', KEYS[1], META.joined, int(now)) end
for lane, list in pairs(places) do
  call('ZADD', key(KEY.knownLanes), '0', lane)
  add_to_wheel(lane, URGENT, list)
end
save_lanes(now)
if is_marked then tell_holders() end
wake_if_earlier(before)
return replies
