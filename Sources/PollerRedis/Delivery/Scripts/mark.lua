#!lua flags=allow-oom
-- Marks deliveries: their watch has an event that the endpoint may not have received.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     groups of deliveries with the same: source, facts (packed, see DeliveryRecord), inline URL or '', its field
--          in the item or '' for a long value, the seq of an event that is sent regardless of the endpoint's scope, or
--          '', 1 when they are urgent, and the number of deliveries; then two values per delivery: id, lane
-- RETURNS  how many were not marked because they are leased and name an event
-- USES     lib_created_index
-- COST     one read per delivery, and one write for a new one; for each lane of urgent deliveries one read and one
--          write more; and always one write, so that the caller can wait for replicas
local now, wall = clocks()
local before = head_of_partition()
local due, began = int(now), int(wall)
local busy, marked = 0, 0
-- {score, lane, score, lane, …} for the set of ready lanes with normal items, and for the set of lanes with items.
local ready, occupied = {}, {}
-- The entries of new and of reopened deliveries in the index by creation, and the urgent deliveries of each lane.
local created, reopened, urgent = {}, {}, {}

-- Adds an event to those that are sent in any case, the eighth part of a delivery's state.
local function send_regardless(item, state, seq)
  local parts = {}
  for part in string.gmatch(state .. '|', '([^|]*)|') do parts[#parts + 1] = part end
  for at = #parts + 1, PART.again do parts[at] = '' end
  if find(',' .. parts[PART.again] .. ',', ',' .. seq .. ',', 1, true) then return end
  parts[PART.again] = parts[PART.again] == '' and seq or parts[PART.again] .. ',' .. seq
  call('HSET', item, ITEM.state, table.concat(parts, '|'))
end

-- Moves a lane that has got a normal item to its position in the ready set. The stored score is kept unless the new one
-- is earlier. So no score is read, and hundreds of lanes are written at once.
local function make_ready(lane)
  local isStopped = lane.paused or lane.parked
  ready[#ready + 1] = isStopped and '+inf' or text(score_of(lane, NORMAL, now))
  ready[#ready + 1] = lane.name
  if not lane.listed then
    occupied[#occupied + 1] = '0'
    occupied[#occupied + 1] = lane.name
    set(lane, LANE.listed, 1)
  end
end

-- Makes a delivery due if it is not leased. A delivery that waits for its next attempt becomes due too: a new event is
-- a reason to retry.
local function mark(group, id, lane)
  local item = key(KEY.item, id)
  local w = call('HMGET', item, ITEM.source, ITEM.closed, ITEM.state, ITEM.began)
  if not w[1] then
    local values = { ITEM.source, group.source, ITEM.facts, group.facts, ITEM.lane, lane, ITEM.began, began,
      ITEM.run, '1' }
    if group.url ~= '' and group.url_field ~= '' then
      values[11], values[12] = group.url_field, group.url
    elseif group.url ~= '' then
      values[11], values[12] = ITEM.hasLong, '1'
      call('HSET', key(KEY.long, id), LONG.private, group.url)
    end
    call('HSET', item, unpack(values))
    created[#created + 1] = created_entry(id, lane, wall)
  elseif w[2] then
    call('HDEL', item, ITEM.closed)
    reopened[#reopened + 1] = created_entry(id, lane, w[4])
    group.reopened[#group.reopened + 1] = id
    if w[2] == CLOSED.dead then call('ZREM', key(KEY.quarantine), id) end
  end
  if group.seq ~= '' then send_regardless(item, w[3] or DELIVERY.fresh, group.seq) end
  if group.isUrgent then
    urgent[lane] = urgent[lane] or {}
    table.insert(urgent[lane], id)
  -- A lane that is not listed has no items.
  elseif not w[1] and not lane_of(lane).listed or not call('ZSCORE', key(URGENT, lane), id) then
    call('ZADD', key(NORMAL, lane), 'LT', due, id)
    make_ready(lane_of(lane))
  end
end

-- Makes the deliveries of a lane due now at the latest, as make_due does for one.
local function make_all_due(name, ids)
  local entries, moved, waiting = {}, {}, call('ZMSCORE', key(NORMAL, name), unpack(ids))
  for n, id in ipairs(ids) do
    entries[2 * n - 1], entries[2 * n] = due, id
    if waiting[n] then
      entries[2 * n - 1] = text(min(now, number(waiting[n])))
      moved[#moved + 1] = id
    end
  end
  call('ZADD', key(URGENT, name), 'LT', unpack(entries))
  lane_of(name)
  rescored[URGENT][name] = true
  if #moved > 0 then
    call('ZREM', key(NORMAL, name), unpack(moved))
    rescored[NORMAL][name] = true
  end
end

local groups, ids, at = {}, {}, 1
while ARGV[at] do
  local group = { source = ARGV[at], facts = ARGV[at + 1], url = ARGV[at + 2], url_field = ARGV[at + 3],
    seq = ARGV[at + 4], isUrgent = ARGV[at + 5] == '1', reopened = {}, first = at + 7 }
  at = group.first + 2 * ARGV[at + 6]
  group.last = at - 1
  for index = group.first, group.last, 2 do ids[#ids + 1] = ARGV[index] end
  groups[#groups + 1] = group
end
local leases = #ids > 0 and call('HMGET', key(KEY.leases), unpack(ids)) or {}
for _, group in ipairs(groups) do
  for index = group.first, group.last, 2 do
    marked = marked + 1
    local id, lease = ARGV[index], leases[marked]
    if not lease then
      mark(group, id, ARGV[index + 1])
    elseif group.seq ~= '' then
      busy = busy + 1
    else
      mark_lease(id, lease)
    end
  end
  if #group.reopened > 0 then call('ZREM', key(KEY.closed), unpack(group.reopened)) end
end
add_all_created(KEY.openCreated, created)
move_all_created(reopened, false)
for name, ids in pairs(urgent) do make_all_due(name, ids) end
if #ready > 0 then call('ZADD', key(READY[NORMAL]), 'LT', unpack(ready)) end
add_all(key(KEY.occupiedLanes), occupied)
save_lanes(now)
call('HINCRBY', KEYS[1], META.confirmed, marked - busy)
wake_if_earlier(before)
return busy
