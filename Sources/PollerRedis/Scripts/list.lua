#!lua flags=no-writes
-- Pages through the ids of one partition: leased ones, then waiting ones lane by lane; or closed ones.
--
-- KEYS[1]  meta key of the partition
-- ARGV     most ids, phase (r|z|h|x), and the position in it: lane and wheel ('' outside z),
--          score, id ('' at the start); then the one lane that is asked for, or ''; then accounts,
--          each between spaces, or '' for all: what is of others is passed here and never answered; 1 to tell
--          where each stands, or ''
-- RETURNS  {ids, phase, lane, score, id, places}: the position after the last id looked at, '' '' at the
--          start of a lane; phase '' when the partition has no more. Leased (r) goes on to waiting
--          (z) by itself; x is quarantine. A page may be short, or empty, and not the last. Of places
--          {phase, lane, score} for each id. Of a partition that is being filled nothing is told
-- COST     O(log n + ids looked at), and two reads a lane, whatever the partition holds
local limit, phase, lane, score, last = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local only, accounts, is_telling = ARGV[6], ARGV[7], ARGV[8] == '1'
if stage == STAGE.filling then return { {}, '', '', '', '', {} } end
-- Ids and lanes looked at in one call: about two milliseconds of Redis.
local looks = 1000
local chunk = math.max(limit, 100)
local ids, places = {}, {}

-- Byte by byte, as a sorted set orders its members: Lua's own `<` follows the server's locale.
local function before(a, b)
  for at = 1, math.min(#a, #b) do
    local x, y = string.byte(a, at), string.byte(b, at)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- Whether an item of all lanes together is wanted.
local function is_wanted(id)
  if only == '' and accounts == '' then return true end
  local item = call('HMGET', key(KEY.item, id), ITEM.lane, ITEM.facts)
  return (only == '' or item[1] == only) and is_among(accounts, item[1], item[2])
end

-- Whether what is in a lane is: it is of one account, which its name tells, or its first item.
local function is_lane_wanted(name)
  if accounts == '' or find(name, '/', 1, true) then return is_among(accounts, name) end
  local first = call('ZRANGE', key(URGENT, name), 0, 0)[1] or call('ZRANGE', key(REST, name), 0, 0)[1]
  return first and is_of(accounts, first)
end

-- Appends members of a sorted set after (score, last), those that are wanted if `isMixed`; true
-- when the set has no more. `name`: the lane and the wheel.
local function page(set, isMixed, name)
  local start = 0
  if last ~= '' then start = call('ZCOUNT', set, '-inf', '(' .. score) end
  while true do
    local part = call('ZRANGE', set, start, start + chunk - 1, 'WITHSCORES')
    for at = 1, #part, 2 do
      local id = part[at]
      local isSeen = last ~= '' and tonumber(part[at + 1]) == tonumber(score) and not before(last, id)
      if not isSeen then
        if #ids >= limit or looks <= 0 then return false end
        looks = looks - 1
        if not isMixed or is_wanted(id) then
          ids[#ids + 1] = id
          if is_telling then places[#ids] = { phase, name or '', part[at + 1] } end
        end
        score, last = part[at + 1], id
      end
    end
    if #part < chunk * 2 then return true end
    start = start + chunk
  end
end

if phase == KEY.leaseEnds then
  if not page(key(KEY.leaseEnds), true) then return { ids, KEY.leaseEnds, '', score, last, places } end
  phase, lane, score, last = KEY.rest, '', '', ''
end
if phase ~= KEY.rest then
  if not page(key(phase), true) then return { ids, phase, '', score, last, places } end
  return { ids, '', '', '', '', places }
end

-- Both wheels of each lane that holds something, in the order of their names; a place is the
-- lane's name and the wheel.
local name, wheel = string.sub(lane, 1, -2), string.sub(lane, -1)
-- Lanes of others are passed by the hundred: they cost a read each, or none.
local most = accounts == '' and limit + 100 or 1000
local names = { only }
if only == '' then
  local from = lane == '' and '-' or '[' .. name
  names = call('ZRANGE', key(KEY.occupiedLanes), from, '+', 'BYLEX', 'LIMIT', 0, most)
end
for _, at in ipairs(names) do
  if not is_lane_wanted(at) then
    name, wheel, score, last = at, REST, '', ''
  else
    for _, next_wheel in ipairs({ URGENT, REST }) do
      if at ~= name or next_wheel >= wheel then
        if at ~= name or next_wheel ~= wheel then name, wheel, score, last = at, next_wheel, '', '' end
        looks = looks - 1
        if not page(key(wheel, name), false, name .. wheel) then
          return { ids, KEY.rest, name .. wheel, score, last, places }
        end
      end
    end
  end
end
if #names < most then return { ids, '', '', '', '', places } end
-- Behind the last lane: a name with a zero byte is the next there can be.
return { ids, KEY.rest, name .. '\0' .. URGENT, '', '', places }
