-- Stands before every script: the names of keys, the clocks, and the arithmetic of lanes.
--
-- Two clocks. The wall clock is the server's; it may be set back or forward, or be another's after a
-- failover. What waits, is leased or held goes by the queue's clock, which never goes back: it is
-- the wall clock and what that has ever been set `back`, as the claims have seen it. Callers are told
-- wall clock times alone, so that a time of the queue is told less `back`.
--
-- Names in capitals (`ITEM.deadline`) and what is read of a lane (`lane.heldUntil`) are
-- StoreSchema.swift's, which puts what is stored in their places before Redis sees a script.
--
-- KEYS[1] is always the partition's meta key, `<namespace>m{<partition>}`; every other key is
-- made from it, so that all of a script's keys are in one slot of a Redis Cluster.
--
-- Nothing here is called before enter(), nor changes outside of functions: as a library this text
-- runs once and its variables stay from one call to the next, whatever partition that is for.

-- What the call is about: the meta key, and the namespace and the partition in it; and the lanes it
-- has read so far.
local M, N, P, lanes

-- Begins a call, also behind one that an error has ended half-way.
local function enter(keys)
  M = keys[1]
  N, P = string.match(M, '^(.*)m({%d+})$')
  lanes = {}
end

local function clock() local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000) end

-- The queue's clock and the wall clock, ms, and what is between them.
local function clocks()
  local wall = clock()
  local m = redis.call('HMGET', M, META.back, META.seen)
  local back = math.max(tonumber(m[1] or 0), tonumber(m[2] or 0) - wall)
  return wall + back, wall, back
end

-- After so long without a claim, ms, the time until the next one is a gap: every process was down,
-- or the clock was set forward. Each partition is claimed from every second.
local UNSEEN = 60000
-- How long a gap takes to fade, ms: longer than anything is kept.
local GAPS_MEMORY = 7776000000

-- The wall clock time before which things are older than `span` ms. Time in which no claim was
-- made counts for no age: a clock that was set forward by a month must not make us forget a month.
local function older_than(span)
  local wall = clock()
  local m = redis.call('HMGET', M, META.back, META.seen, META.gapEnd, META.gapsSum)
  local unseen = wall + tonumber(m[1] or 0) - tonumber(m[2] or math.huge)
  local limit = wall - span
  if unseen > UNSEEN then limit = limit - unseen end
  if limit < tonumber(m[3] or 0) then limit = limit - tonumber(m[4] or 0) end
  return math.max(limit, 0)
end

-- The key of a kind (see Keys.swift), of the partition or of one item or lane in it.
local function key(kind, name) return N .. kind .. P .. (name or '') end

-- A time in ms as text. Passed on as numbers, Redis writes them out in full by itself.
local function int(x) return string.format('%.0f', x) end

-- The two wheels of a lane, urgent items and the rest, and the set of ready lanes of each.
local URGENT, REST = KEY.urgent, KEY.rest
local READY = { [KEY.urgent] = KEY.readyUrgent, [KEY.rest] = KEY.readyRest }
-- The fields of a lane that hold its turn in each list: the score it was given when it was served
-- last, so that a slot given back or a new item does not put it before those that wait.
local TURN = { [KEY.urgent] = LANE.urgentTurn, [KEY.rest] = LANE.restTurn }
local FAILURES_MAX = 10
-- How long a lane that holds nothing remembers its failures and its slowing, ms; and since when
-- an endpoint's attempts fail, which may be days between two events.
local EMPTY_MEMORY, TROUBLE_MEMORY = 3600000, 518400000

-- A lease as the partition keeps it: token, owner, three marks (hinted meanwhile, has an error, has
-- crashed; `-` in their places if not), the wheel it was taken from, due ms, lane. What stands before the marks proves who holds it.
local function pack_lease(token, owner, marks, wheel, due, lane)
  return token .. ' ' .. owner .. ' ' .. marks .. wheel .. due .. ' ' .. lane
end
local function unpack_lease(text)
  return string.match(text, '^(%d+) (%S+) (...)(.)(%S+) (.*)$')
end

-- The earliest ready time of any lane of the partition in ms, or nil.
--
-- Ready sets count in thousandths of a ms, of which the last three digits keep the lanes' turns:
-- whole numbers, because those with a fraction cost Redis ten times as much to write.
local function head_of_partition()
  local earliest
  for _, set in pairs(READY) do
    local score = tonumber(redis.call('ZRANGE', key(set), 0, 0, 'WITHSCORES')[2] or '')
    if score and score < math.huge and (not earliest or score < earliest) then earliest = score end
  end
  return earliest and math.floor(earliest / 1000)
end

-- Lanes are read once by a script, changed in memory and written once, by save_lanes.
local function lane_of(name)
  local lane = lanes[name]
  if lane then return lane end
  lane = { changed = {}, rescored = {}, floor = {} }
  local values = redis.call('HGETALL', key(KEY.lane, name))
  for at = 1, #values, 2 do lane[values[at]] = tonumber(values[at + 1]) end
  lanes[name] = lane
  return lane
end

-- Sets a field of a lane, or (nil) forgets it.
local function set(lane, field, value)
  if lane[field] ~= value then
    lane[field] = value
    lane.changed[field] = true
  end
end

local function rescore(lane) lane.rescored[URGENT], lane.rescored[REST] = true, true end

-- Adds {score, member, score, member, …}; Lua's stack holds no more than some thousand values.
local function add_all(set, places)
  for at = 1, #places, 2000 do
    redis.call('ZADD', set, unpack(places, at, math.min(at + 1999, #places)))
  end
end

-- Puts items, as {due, id, due, id, …}, into a wheel.
local function add_to_wheel(name, wheel, places)
  add_all(key(wheel, name), places)
  lane_of(name).rescored[wheel] = true
end

-- Gives slots of a lane back; a lane parked for want of one may be claimed from again.
local function give_back(name, count)
  local lane = lane_of(name)
  set(lane, LANE.inFlight, math.max((lane.inFlight or 0) - count, 0))
  if lane.parked then
    set(lane, LANE.parked, nil)
    rescore(lane)
  end
  lane.rescored[REST] = true
end

-- What is left of a lane's limits after a `slow`, growing back by 5 % a second.
local function factor_of(lane, now)
  if not lane.factor then return 1 end
  return math.min(1, lane.factor + 0.05 * math.max(0, now - lane.slowUntil) / 1000)
end

-- When a wheel with an earliest due time is worth a claim, behind those served longer ago.
local function score_of(lane, wheel, head)
  return math.max(math.floor(math.max(head, lane.notBefore or 0, lane.heldUntil or 0) * 1000),
    lane[TURN[wheel]] or 0)
end

-- Stores when a lane is worth a claim: not before its earliest item is due, its limiter allows
-- one more, nor while it is held; never while all its slots are taken or it is paused (a commit,
-- the end of a lease or an operator will tell). A lane that holds nothing leaves its sets, and
-- is forgotten: at once when there is nothing to remember of it, else when that is long over.
-- Those that hold something are also in a list by name, so that a list finds its place again.
local function save_lanes(now)
  local ready = { [KEY.urgent] = {}, [KEY.rest] = {} }
  for name, lane in pairs(lanes) do
    local isEmpty = {}
    for wheel in pairs(lane.rescored) do
      local head = tonumber(redis.call('ZRANGE', key(wheel, name), 0, 0, 'WITHSCORES')[2] or '')
      isEmpty[wheel] = not head
      if not head and (wheel == URGENT or (lane.inFlight or 0) == 0) then
        redis.call('ZREM', key(READY[wheel]), name)
      else
        local isParked = not head or lane.paused or lane.parked
        local list = ready[wheel]
        list[#list + 1] = isParked and '+inf' or score_of(lane, wheel, head)
        list[#list + 1] = name
      end
    end
    local isBare = isEmpty[REST] and (lane.inFlight or 0) == 0
      and redis.call('EXISTS', key(URGENT, name)) == 0
    local isIdle = isBare and not lane.intervalUs and not lane.paused
    if isBare and lane.listed then
      redis.call('ZREM', key(KEY.occupiedLanes), name)
      set(lane, LANE.listed, nil)
    elseif not isBare and not lane.listed and next(lane.rescored) then
      redis.call('ZADD', key(KEY.occupiedLanes), 0, name)
      set(lane, LANE.listed, 1)
    end
    local remembers = math.max(lane.arrival or 0, lane.heldUntil or 0)
    if isIdle and remembers <= now and (lane.failures or 0) == 0 and not lane.failingSince
      and factor_of(lane, now) == 1 then
      redis.call('DEL', key(KEY.lane, name))
      lanes[name] = nil
    else
      if isIdle then
        set(lane, LANE.empty, 1)
      elseif lane.empty then
        set(lane, LANE.empty, nil)
        redis.call('PERSIST', key(KEY.lane, name))
      end
      local values, gone = {}, {}
      for field in pairs(lane.changed) do
        if lane[field] then
          values[#values + 1] = field
          values[#values + 1] = lane[field]
        else
          gone[#gone + 1] = field
        end
      end
      if #values > 0 then redis.call('HSET', key(KEY.lane, name), unpack(values)) end
      if #gone > 0 then redis.call('HDEL', key(KEY.lane, name), unpack(gone)) end
      if isIdle then
        local memory = lane.failingSince and TROUBLE_MEMORY or EMPTY_MEMORY
        redis.call('PEXPIRE', key(KEY.lane, name), int(math.max(remembers - now, 0) + memory))
      end
      lane.changed, lane.rescored = {}, {}
    end
  end
  for wheel, list in pairs(ready) do add_all(key(READY[wheel]), list) end
end

-- Tells the workers that the partition has something earlier than they were told.
local function wake_if_earlier(before)
  local after = head_of_partition()
  if after and (not before or after < before) then
    redis.call('PUBLISH', N .. CHANNEL.wake, string.match(P, '%d+'))
  end
end

-- Makes a leased item due right after its lease, in the urgent wheel.
local function mark_lease(id, lease)
  local token, owner, marks, wheel, due, lane = unpack_lease(lease)
  marks = MARK.hinted .. string.sub(marks, 2)
  redis.call('HSET', key(KEY.leases), id, pack_lease(token, owner, marks, wheel, due, lane))
end

-- Makes a waiting item due now at the latest, in the urgent wheel.
local function make_due(id, name, now)
  local due = redis.call('ZSCORE', key(REST, name), id)
  if due then
    redis.call('ZREM', key(REST, name), id)
    lane_of(name).rescored[REST] = true
    add_to_wheel(name, URGENT, { math.min(now, tonumber(due)), id })
  else
    redis.call('ZADD', key(URGENT, name), 'LT', int(now), id)
    lane_of(name).rescored[URGENT] = true
  end
end

-- Records an event: in the outbox, in the item's own log, and to those who listen right now.
-- The stream comes first: it is the write that can fail.
local function record(id, seq, json, channel)
  local notify = redis.call('HGET', key(KEY.long, id), LONG.notify) or ''
  redis.call('XADD', key(KEY.outbox), '*', ENTRY.item, id, ENTRY.event, json, ENTRY.notify, notify)
  redis.call('RPUSH', key(KEY.log, id), json)
  redis.call('LTRIM', key(KEY.log, id), -100, -1)
  redis.call('HSET', key(KEY.item, id), ITEM.seq, seq)
  redis.call('PUBLISH', channel, json)
end

-- Adds a line to the item's log of attempts, which outlives its newest line by some ms.
local function note(id, line, ms)
  local log = key(KEY.attempts, id)
  if redis.call('RPUSH', log, line) > 20 then redis.call('LPOP', log) end
  redis.call('PEXPIRE', log, ms)
end
