-- Preface of every script: the names of keys, the clocks, and the arithmetic of lanes.
--
-- There are two clocks. The wall clock is the server's. It may be set back or forward, or belong to another server
-- after a failover. Due times, leases and holds use the queue's clock, which never goes back: it is the wall clock plus
-- `back`, the sum of all backward steps that claims have seen. Callers receive only wall clock times, so `back` is
-- subtracted from every time of the queue.
--
-- Uppercase names (`ITEM.deadline`) and the fields of a lane (`lane.heldUntil`) are defined in StoreSchema.swift.
--
-- KEYS[1] is always the partition's meta key, `<namespace>m{<partition>}`. Every other key is derived from it, so that
-- all keys of a script are in one slot of a Redis Cluster.
--
-- Nothing here is called before enter(), or changes outside of functions: in a library this text runs once, and its
-- variables persist from one call to the next, even for different partitions.

-- Functions that are looked up once instead of at each use. They are not available while a library is loaded.
local call, number, floor, ceil, max, min, format, match, find, sub, byte

-- The state of the call: the meta key, and the namespace and the partition in it; the keys of the partition so far, by
-- kind; the lanes the call has read; and, by schedule, the lanes whose score in the ready set must be recomputed, and
-- those that have only gained items: {lane -> earliest due ms}.
local M, N, P, keys_by_kind, lanes, rescored, gained

-- By schedule, the first score of the ready set as it is now: false if it has none, nil if it was not read.
local first_scores

-- The caller's lane layout, as its second key declares it; the value of that key before any split; whether the script
-- writes nothing; and the stage of the partition's split, once the clocks were read.
local declared_layout, base_layout, isReading, stage

-- The constant part of this state for recently used partitions.
local partition_cache, partition_cache_size = {}, 0

-- Begins a call, even after a previous one has failed half-way.
local function enter(keys, reads)
  if not call then
    call, number, floor, ceil, max, min = redis.call, tonumber, math.floor, math.ceil, math.max, math.min
    format, match, find, sub, byte = string.format, string.match, string.find, string.sub, string.byte
  end
  M, lanes, first_scores = keys[1], {}, {}
  rescored, gained = { [KEY.urgent] = {}, [KEY.normal] = {} }, { [KEY.urgent] = {}, [KEY.normal] = {} }
  local partition = partition_cache[M]
  if not partition then
    -- With more than a thousand partitions, each is soon cached again.
    if partition_cache_size >= 1024 then partition_cache, partition_cache_size = {}, 0 end
    partition = { {}, match(M, '^(.*)m({%d+})$') }
    partition[4] = partition[2] .. 'never' .. partition[3]
    partition_cache[M], partition_cache_size = partition, partition_cache_size + 1
  end
  keys_by_kind, N, P, base_layout = partition[1], partition[2], partition[3], partition[4]
  declared_layout, isReading, stage = keys[2] or base_layout, reads, nil
end

-- Rejects a caller whose lane layout differs from the partition's (PartitionMap.swift). While the partition is being
-- split, nothing is written once its leases are gone, and nothing is read while the moved lanes leave it. A partition
-- that is being filled can be read, but lists skip it.
local function check_layout(split, reached_stage)
  if declared_layout ~= (split and base_layout .. split or base_layout) then
    error({ err = ERROR.split .. ' ' .. (split or '0') })
  end
  stage = reached_stage
  if reached_stage and reached_stage ~= STAGE.closing and (reached_stage == STAGE.copied or not isReading) then
    error({ err = ERROR.splitting .. ' ' .. P })
  end
end

-- The same check, for scripts that read no clock.
local function read_and_check_layout()
  local m = call('HMGET', M, META.split, META.splitting)
  check_layout(m[1], m[2])
end

local function clock() local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000) end

-- Returns the queue's clock and the wall clock, ms, and their difference.
local function clocks()
  local wall = clock()
  local m = call('HMGET', M, META.back, META.seen, META.split, META.splitting)
  check_layout(m[3], m[4])
  local back = max(number(m[1] or 0), number(m[2] or 0) - wall)
  return wall + back, wall, back
end

-- After this long without a claim, ms, the time until the next claim is a gap: every process was down, or the clock was
-- set forward. Each partition is claimed from every second.
local GAP_MIN = 60000
-- How long a gap takes to fade, ms: longer than any retention.
local GAPS_RETENTION = 7776000000

-- Returns the wall clock time before which items are older than `span` ms. Time without claims does not count: a clock
-- that was set forward by a month must not remove a month of items.
local function older_than(span)
  local wall = clock()
  local m = call('HMGET', M, META.back, META.seen, META.gapEnd, META.gapsSum)
  local unseen = wall + number(m[1] or 0) - number(m[2] or math.huge)
  local limit = wall - span
  if unseen > GAP_MIN then limit = limit - unseen end
  if limit < number(m[3] or 0) then limit = limit - number(m[4] or 0) end
  return max(limit, 0)
end

-- Returns the key of a kind (see Keys.swift), of the partition or of one item or lane in it.
local function key(kind, name)
  local all = keys_by_kind[kind]
  if not all then
    all = N .. kind .. P
    keys_by_kind[kind] = all
  end
  return name and all .. name or all
end

-- Returns whether an item belongs to one of some accounts, separated by spaces ('' means all). The account is that of
-- its lane if the lane has one, else that of its constant facts.
local function is_in_accounts(accounts, lane, facts)
  if accounts == '' then return true end
  local account = match(lane or '', '^(.*)/') or match(facts or '', '|(.*)$')
  return account and find(accounts, ' ' .. account .. ' ', 1, true) and true or false
end
local function item_is_in_accounts(accounts, id)
  if accounts == '' then return true end
  local item = call('HMGET', key(KEY.item, id), ITEM.lane, ITEM.facts)
  return is_in_accounts(accounts, item[1], item[2])
end

-- Returns a time in ms as text.
local function int(x) return format('%.0f', x) end

-- Returns a number as text: Redis takes three times as long for a number argument, and so does int. For the same reason
-- constants are passed as strings.
local function text(x) return x % 1 == 0 and format('%d', x) or x end

-- Returns a count or a time of a record, or `default` for text, NaN, a negative number, or a number of more than 14
-- digits, which Lua writes with an exponent. A damaged record must not stop a script that reads many.
local function bounded(x, default)
  x = number(x or '')
  return x and x >= 0 and x < 1e14 and x or default
end

-- Returns the time between the creation of an item and its deadline; 0 if one of them is damaged.
local function span_between(began, deadline)
  deadline = bounded(deadline, 0)
  return max(deadline - bounded(began, deadline), 0)
end

-- The two schedules of a lane, urgent and normal, and the set of ready lanes of each.
local URGENT, NORMAL = KEY.urgent, KEY.normal
local READY = { [KEY.urgent] = KEY.readyUrgent, [KEY.normal] = KEY.readyNormal }
-- The fields of a lane that hold its turn in each list: its score when it was last served. A released slot or a new
-- item therefore does not move it ahead of waiting lanes.
local TURN = { [KEY.urgent] = LANE.urgentTurn, [KEY.normal] = LANE.normalTurn }
local FAILURES_MAX = 10
-- How long an empty lane remembers its failures and its slowdown, ms; and since when an endpoint's attempts fail,
-- because days may pass between two events.
local EMPTY_RETENTION, FAILURE_RETENTION = 3600000, 518400000

-- A stored lease: token, owner, three marks (hinted or outdated meanwhile, has an error, has crashed; `-` for each one
-- that is not set), the schedule it was taken from, due ms, lane. The part before the marks identifies the owner.
local function pack_lease(token, owner, marks, schedule, due, lane)
  return token .. ' ' .. owner .. ' ' .. marks .. schedule .. due .. ' ' .. lane
end
local function unpack_lease(text)
  return match(text, '^(%d+) (%S+) (...)(.)(%S+) (.*)$')
end

-- Returns whether the item of a lease with these marks is due right after it.
local function is_hinted(marks)
  local first = byte(marks)
  return first == MARKBYTE.hinted or first == MARKBYTE.outdated
end

-- Returns the first score in the ready set of a schedule, or false.
--
-- Scores in ready sets are thousandths of a ms, whose last three digits keep the turns of the lanes. They are whole
-- numbers, because fractions take Redis ten times as long to write.
local function first_score(schedule)
  local score = first_scores[schedule]
  if score == nil then
    score = number(call('ZRANGE', key(READY[schedule]), '0', '0', 'WITHSCORES')[2] or '') or false
    first_scores[schedule] = score
  end
  return score
end

-- Returns the earliest ready time of any lane of the partition in ms, or nil.
local function head_of_partition()
  local earliest = min(first_score(URGENT) or math.huge, first_score(NORMAL) or math.huge)
  return earliest < math.huge and floor(earliest / 1000) or nil
end

-- A script reads a lane once, changes it in memory, and writes it once in save_lanes.
local function lane_of(name)
  local lane = lanes[name]
  if lane then return lane end
  lane = { name = name }
  local values = call('HGETALL', key(KEY.lane, name))
  for at = 1, #values, 2 do lane[values[at]] = number(values[at + 1]) end
  lanes[name] = lane
  return lane
end

-- Sets a field of a lane, or (nil) removes it.
local function set(lane, field, value)
  if lane[field] ~= value then
    lane[field] = value
    if not lane.changed then lane.changed = {} end
    lane.changed[field] = true
  end
end

local function rescore(lane)
  rescored[URGENT][lane.name], rescored[NORMAL][lane.name] = true, true
end

-- Returns when the next item in a schedule of a lane is due, ms; nil when it has none.
local function head_of(name, schedule)
  return number(call('ZRANGE', key(schedule, name), '0', '0', 'WITHSCORES')[2] or '')
end

-- Records that a lane got an item, or with math.huge that it may be empty now.
local function record_gain(name, schedule, due)
  local all = gained[schedule]
  if due < (all[name] or math.huge) then
    all[name] = due
  else
    all[name] = all[name] or due
  end
end

-- Adds {score, member, score, member, …} in parts, because Lua's stack holds only a few thousand values.
local function add_all(set, entries)
  for at = 1, #entries, 2000 do
    call('ZADD', set, unpack(entries, at, min(at + 1999, #entries)))
  end
end

-- Adds items, as {due, id, due, id, …}, to a schedule; `earliest` is the earliest due in ms, if known.
local function add_to_schedule(name, schedule, entries, earliest)
  add_all(key(schedule, name), entries)
  if not earliest then
    earliest = math.huge
    for at = 1, #entries, 2 do earliest = min(earliest, number(entries[at])) end
  end
  lane_of(name)
  record_gain(name, schedule, earliest)
end

-- Releases slots of a lane. A lane parked because its slots were taken becomes ready again.
local function release_slots(name, count)
  local lane = lane_of(name)
  set(lane, LANE.inFlight, max((lane.inFlight or 0) - count, 0))
  if lane.parked then
    set(lane, LANE.parked, nil)
    rescore(lane)
  end
  record_gain(name, NORMAL, math.huge)
end

-- Returns the part of a lane's limits that remains after a `slow`. It recovers by 5 % per second.
local function factor_of(lane, now)
  if not lane.factor then return 1 end
  return min(1, lane.factor + 0.05 * max(0, now - lane.slowUntil) / 1000)
end

-- Returns when a schedule with an earliest due time is worth a claim, after lanes served longer ago.
local function score_of(lane, schedule, head)
  return max(floor(max(head, lane.notBefore or 0, lane.heldUntil or 0) * 1000),
    lane[TURN[schedule]] or 0)
end

-- Stores when a lane is worth a claim: when its earliest item is due, its limiter allows another start, and it is not
-- held. A lane whose slots are all taken or that is paused is never ready, until a commit, the end of a lease or an
-- operator changes that. An empty lane leaves its sets, and is deleted: at once when it has no state to remember, else
-- when that state has expired. Lanes with items are also in a list by name, so that a paged list can continue.
local function save_lanes(now)
  local ready = { [KEY.urgent] = {}, [KEY.normal] = {} }
  for name, lane in pairs(lanes) do
    local isRescored, isEmpty = false, false
    for schedule, list in pairs(ready) do
      if rescored[schedule][name] or gained[schedule][name] then
        isRescored = true
        local head = head_of(name, schedule)
        if not head and schedule == NORMAL then isEmpty = true end
        if not head and (schedule == URGENT or (lane.inFlight or 0) == 0) then
          call('ZREM', key(READY[schedule]), name)
          first_scores[schedule] = nil
        else
          local isParked = not head or lane.paused or lane.parked
          list[#list + 1] = isParked and '+inf' or text(score_of(lane, schedule, head))
          list[#list + 1] = name
        end
      end
    end
    local hasNoItems = isEmpty and (lane.inFlight or 0) == 0
      and call('EXISTS', key(URGENT, name)) == 0
    local isIdle = hasNoItems and not lane.intervalUs and not lane.paused
    if hasNoItems and lane.listed then
      call('ZREM', key(KEY.occupiedLanes), name)
      set(lane, LANE.listed, nil)
    elseif not hasNoItems and not lane.listed and isRescored then
      call('ZADD', key(KEY.occupiedLanes), 0, name)
      set(lane, LANE.listed, 1)
    end
    local remember_until = max(lane.arrival or 0, lane.heldUntil or 0)
    if isIdle and remember_until <= now and (lane.failures or 0) == 0 and not lane.failingSince
      and factor_of(lane, now) == 1 then
      call('DEL', key(KEY.lane, name))
      lanes[name] = nil
    else
      if isIdle then
        set(lane, LANE.empty, 1)
      elseif lane.empty then
        set(lane, LANE.empty, nil)
        call('PERSIST', key(KEY.lane, name))
      end
      if lane.changed then
        local values, removed = {}, {}
        for field in pairs(lane.changed) do
          if lane[field] then
            values[#values + 1] = field
            values[#values + 1] = text(lane[field])
          else
            removed[#removed + 1] = field
          end
        end
        if #values > 0 then call('HSET', key(KEY.lane, name), unpack(values)) end
        if #removed > 0 then call('HDEL', key(KEY.lane, name), unpack(removed)) end
      end
      if isIdle then
        local retention = lane.failingSince and FAILURE_RETENTION or EMPTY_RETENTION
        call('PEXPIRE', key(KEY.lane, name), int(max(remember_until - now, 0) + retention))
      end
    end
  end
  for schedule, list in pairs(ready) do
    if list[1] then
      add_all(key(READY[schedule]), list)
      first_scores[schedule] = nil
    end
  end
end

-- Wakes the workers if the partition has an earlier item than they know.
local function wake_if_earlier(before)
  -- Some scripts write to the ready sets themselves.
  first_scores = {}
  local after = head_of_partition()
  if after and (not before or after < before) then
    call('PUBLISH', N .. CHANNEL.wake, match(P, '%d+'))
  end
end

-- Makes a leased item due right after its lease, in the urgent schedule; returns false if it was already.
-- `is_outdated`: the item has changed since it was leased, so the result of the lease is not recorded (LeaseMark).
local function mark_lease(id, lease, is_outdated)
  local token, owner, marks, schedule, due, lane = unpack_lease(lease)
  local first = byte(marks)
  if first == MARKBYTE.outdated or (first == MARKBYTE.hinted and not is_outdated) then return false end
  marks = (is_outdated and MARK.outdated or MARK.hinted) .. sub(marks, 2)
  call('HSET', key(KEY.leases), id, pack_lease(token, owner, marks, schedule, due, lane))
  return first ~= MARKBYTE.hinted
end

-- Notifies the owners of leases in the partition that one was marked: its commit must not wait for a batch.
local function notify_lease_owners()
  call('PUBLISH', N .. CHANNEL.marked, match(P, '%d+'))
end

-- Makes a waiting item due now at the latest, in the urgent schedule.
local function make_due(id, name, now)
  local due = call('ZSCORE', key(NORMAL, name), id)
  if due then
    call('ZREM', key(NORMAL, name), id)
    rescored[NORMAL][name] = true
    add_to_schedule(name, URGENT, { min(now, number(due)), id })
  else
    call('ZADD', key(URGENT, name), 'LT', int(now), id)
    lane_of(name)
    rescored[URGENT][name] = true
  end
end
