#!lua flags=allow-oom
-- Checks the invariants of some items, of some lanes with all leases, or of the counts of registered endpoints. Repairs
-- them on request.
--
-- KEYS[1]  meta key of the partition
-- ARGV     repair 0|1, then items, id, id, …; or lanes, rank of the first, count; or counts
-- RETURNS  {checked, next rank or -1, the faults, those of them that are not repaired even on request}
-- USES     lib_created_index, lib_compacted_events
-- COST     about fifteen reads per item, ten per lane, and for lanes all leases; O(endpoints) for their counts
local isRepairing = ARGV[1] == '1'
local now, wall = clocks()
local before = head_of_partition()
local checked, following, found, lasting = 0, -1, {}, {}
local function fault(text) found[#found + 1] = text end

local function check_item(id)
  local w = call('HMGET', key(KEY.item, id), ITEM.source, ITEM.lane, ITEM.closed, ITEM.seq,
    ITEM.forgottenSeq, ITEM.began)
  if not w[2] then
    fault('item ' .. id .. ' has no lane')
    if isRepairing then call('DEL', key(KEY.item, id)) end
    return
  end
  local lane, closed = w[2], w[3]
  local lease, ends = call('HGET', key(KEY.leases), id), call('ZSCORE', key(KEY.leaseEnds), id)
  local urgent = call('ZSCORE', key(URGENT, lane), id)
  local normal = call('ZSCORE', key(NORMAL, lane), id)
  local listed, quarantined = call('ZSCORE', key(KEY.closed), id), call('ZSCORE', key(KEY.quarantine), id)
  local isLeased = lease and ends
  local locations = (isLeased and 1 or 0) + (urgent and 1 or 0) + (normal and 1 or 0)
  local faults = #found

  if (lease and true or false) ~= (ends and true or false) then
    fault('item ' .. id .. ' has half a lease')
    if isRepairing then
      call('HDEL', key(KEY.leases), id)
      call('ZREM', key(KEY.leaseEnds), id)
    end
  end
  if closed then
    if locations > 0 then fault('item ' .. id .. ' is closed and still in a schedule or leased') end
    if not listed then fault('item ' .. id .. ' is closed and in no list') end
    if (closed == CLOSED.dead) ~= (quarantined and true or false) then
      fault('item ' .. id .. ' is ' .. closed .. ' and ' .. (quarantined and '' or 'not ') .. 'in quarantine')
    end
    if isRepairing and #found > faults then
      call('ZREM', key(URGENT, lane), id)
      call('ZREM', key(NORMAL, lane), id)
      call('ZREM', key(KEY.leaseEnds), id)
      call('HDEL', key(KEY.leases), id)
      call('ZADD', key(KEY.closed), 'NX', int(wall), id)
      if closed == CLOSED.dead then
        call('ZADD', key(KEY.quarantine), 'NX', int(wall), id)
      else
        call('ZREM', key(KEY.quarantine), id)
      end
      rescore(lane_of(lane))
    end
  else
    if locations ~= 1 then fault('item ' .. id .. ' is open and in ' .. locations .. ' schedules or leases') end
    if listed or quarantined then fault('item ' .. id .. ' is open and listed as closed') end
    if isRepairing and #found > faults then
      call('ZREM', key(KEY.closed), id)
      call('ZREM', key(KEY.quarantine), id)
      if isLeased or urgent then call('ZREM', key(NORMAL, lane), id) end
      if isLeased then
        call('ZREM', key(URGENT, lane), id)
      elseif not urgent and not normal then
        add_to_schedule(lane, URGENT, { int(now), id })
      end
      rescore(lane_of(lane))
    end
  end
  for schedule, score in pairs({ [KEY.urgent] = urgent, [KEY.normal] = normal }) do
    if score and not call('ZSCORE', key(READY[schedule]), lane) then
      fault('item ' .. id .. ' waits in lane ' .. lane .. ', which is not listed')
      if isRepairing then rescore(lane_of(lane)) end
    end
  end
  if is_listed(id) and is_missing_in_leaf(id, lane, w[6], closed) then
    fault('item ' .. id .. ' is missing in the index by creation')
    if isRepairing then move_created(id, lane, w[6], closed and true or false) end
  end
  local seq, log = tonumber(w[4] or 0), call('LLEN', key(KEY.log, id))
  local first = call('LINDEX', key(KEY.log, id), 0)
  if first and string.byte(first) == PACKED.compacted then log = log - 1 + string.byte(first, 2) end
  local compacted = compacted_in(id)
  if compacted then log = log + string.byte(compacted, 2) end
  if log < math.min(seq - tonumber(w[5] or 0), 100) or log > seq then
    lasting[#lasting + 1] = 'item ' .. id .. ' has recorded ' .. seq .. ' events and keeps ' .. log
    fault(lasting[#lasting])
  end
end

local function check_lane(name, leases)
  local lane = lane_of(name)
  if (lane.inFlight or 0) ~= leases then
    fault('lane ' .. name .. ' counts ' .. int(lane.inFlight or 0) .. ' in flight and has '
      .. leases .. ' leases')
    if isRepairing then
      set(lane, LANE.inFlight, leases)
      set(lane, LANE.parked, nil)
      rescore(lane)
    end
  end
  local hasNoItems = leases == 0
  for schedule, ready in pairs(READY) do
    local head = tonumber(call('ZRANGE', key(schedule, name), 0, 0, 'WITHSCORES')[2] or '')
    if head then
      hasNoItems = false
      local score = tonumber(call('ZSCORE', key(ready), name) or '')
      local turn = (lane[TURN[schedule]] or 0) / 1000
      local ready_at = math.max(head, lane.notBefore or 0, lane.heldUntil or 0, now, turn)
      local isParked = lane.paused or (lane.parked and leases > 0)
      if not score then
        fault('lane ' .. name .. ' holds items and is not listed')
      elseif score > (ready_at + 1) * 1000 and not isParked then
        fault('lane ' .. name .. ' is ready at ' .. int(ready_at) .. ' and listed for ' .. int(score / 1000))
      end
      if isRepairing and (not score or (score > (ready_at + 1) * 1000 and not isParked)) then
        set(lane, LANE.parked, nil)
        rescore(lane)
      end
      if not call('ZSCORE', key(KEY.occupiedLanes), name) then
        fault('lane ' .. name .. ' holds items and is in no list')
        if isRepairing then
          set(lane, LANE.listed, nil)
          rescore(lane)
        end
      end
    end
  end
  if hasNoItems and call('ZSCORE', key(KEY.occupiedLanes), name) then
    fault('lane ' .. name .. ' is listed and holds nothing')
    if isRepairing then
      call('ZREM', key(KEY.occupiedLanes), name)
      set(lane, LANE.listed, nil)
    end
  end
end

-- Returns the number of endpoints of each account, counted from the records: {account -> count}.
local function count_endpoints()
  local counts, records = {}, call('HVALS', key(KEY.endpoints))
  for at = 1, #records do
    local account = match(records[at], '^%d+ %d+ (%S+) ')
    if account then counts[account] = (counts[account] or 0) + 1 end
  end
  return counts
end

local function check_counts()
  local counts, faults = count_endpoints(), #found
  local stored = call('HGETALL', key(KEY.endpointCounts))
  for at = 1, #stored, 2 do
    local account, count = stored[at], tonumber(stored[at + 1])
    if count ~= (counts[account] or 0) then
      fault('account ' .. account .. ' counts ' .. count .. ' endpoints and has ' .. (counts[account] or 0))
    end
    counts[account] = nil
  end
  for account, count in pairs(counts) do
    fault('account ' .. account .. ' counts no endpoints and has ' .. count)
  end
  if isRepairing and #found > faults then
    call('DEL', key(KEY.endpointCounts))
    for account, count in pairs(count_endpoints()) do
      call('HSET', key(KEY.endpointCounts), account, count)
    end
  end
  return #stored / 2
end

if ARGV[2] == 'counts' then
  checked = check_counts()
elseif ARGV[2] == 'items' then
  for at = 3, #ARGV do check_item(ARGV[at]) end
  checked = #ARGV - 2
else
  local first, count = tonumber(ARGV[3]), tonumber(ARGV[4])
  -- Every step reads all leases. Their number depends on the processes, not on the lanes.
  local counts, leases = {}, call('HGETALL', key(KEY.leases))
  for at = 1, #leases, 2 do
    local id = leases[at]
    local _, _, _, _, _, name = unpack_lease(leases[at + 1])
    counts[name] = (counts[name] or 0) + 1
    if first == 0 and call('EXISTS', key(KEY.item, id)) == 0 then
      fault('lease of ' .. id .. ' has no item')
      if isRepairing then
        call('HDEL', key(KEY.leases), id)
        call('ZREM', key(KEY.leaseEnds), id)
        counts[name] = counts[name] - 1
      end
    end
  end
  -- Ranks continue from one list to the next. A lane in two lists is checked with the first. A lane in no list that has
  -- leases is checked in the first step.
  local lists, names, total = { KEY.occupiedLanes, KEY.readyUrgent, KEY.readyNormal }, {}, 0
  local function is_in_earlier_list(name, last)
    for at = 1, last do
      if call('ZSCORE', key(lists[at]), name) then return true end
    end
  end
  for at, list in ipairs(lists) do
    local size = call('ZCARD', key(list))
    local from, to = max(first - total, 0), min(first + count - total, size) - 1
    if from <= to then
      for _, name in ipairs(call('ZRANGE', key(list), int(from), int(to))) do
        if not is_in_earlier_list(name, at - 1) then names[#names + 1] = name end
      end
    end
    total = total + size
  end
  if first == 0 then
    for name in pairs(counts) do
      if not is_in_earlier_list(name, #lists) then names[#names + 1] = name end
    end
  end
  for _, name in ipairs(names) do check_lane(name, counts[name] or 0) end
  checked = #names
  if first + count < total then following = first + count end
end
if isRepairing then
  save_lanes(now)
  wake_if_earlier(before)
end
return { checked, following, found, lasting }
