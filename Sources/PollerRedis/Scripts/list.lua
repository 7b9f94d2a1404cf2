#!lua flags=no-writes
-- Pages through the ids of one partition: leased ones, then waiting ones lane by lane; or closed ones.
--
-- KEYS[1]  meta key of the partition
-- ARGV     most ids, phase (r|z|h|x), and the position in it: lane and wheel ('' outside z),
--          score, id ('' at the start)
-- RETURNS  {ids, phase, lane, score, id}: the position after the last id; phase '' when the
--          partition has no more. Leased (r) goes on to waiting (z) by itself; x is quarantine
-- COST     O(log n + page), plus the lanes of the partition once a page
local limit, phase, lane, score, last = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local ids = {}

-- Byte by byte, as a sorted set orders its members: Lua's own `<` follows the server's locale.
local function before(a, b)
  for at = 1, math.min(#a, #b) do
    local x, y = string.byte(a, at), string.byte(b, at)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- Appends members of a sorted set after (score, last); true when the set has no more.
local function page(set)
  local start = 0
  if last ~= '' then start = redis.call('ZCOUNT', set, '-inf', '(' .. score) end
  while true do
    local part = redis.call('ZRANGE', set, start, start + limit - 1, 'WITHSCORES')
    for at = 1, #part, 2 do
      local isSeen = last ~= '' and tonumber(part[at + 1]) == tonumber(score) and not before(last, part[at])
      if not isSeen then
        if #ids >= limit then return false end
        ids[#ids + 1], score, last = part[at], part[at + 1], part[at]
      end
    end
    if #part < limit * 2 then return true end
    start = start + limit
  end
end

if phase == 'r' then
  if not page(key('r')) then return { ids, 'r', '', score, last } end
  phase, lane, score, last = 'z', '', '', ''
end
if phase == 'z' then
  -- Both wheels of each lane that holds something; a place is the lane's name and the wheel.
  local places, seen = {}, {}
  for _, set in pairs(READY) do
    for _, name in ipairs(redis.call('ZRANGE', key(set), 0, -1)) do
      if not seen[name] then
        seen[name] = true
        places[#places + 1] = name .. URGENT
        places[#places + 1] = name .. REST
      end
    end
  end
  table.sort(places, before)
  for _, place in ipairs(places) do
    if not before(place, lane) then
      if place ~= lane then lane, score, last = place, '', '' end
      local wheel = key(string.sub(place, -1), string.sub(place, 1, -2))
      if not page(wheel) then return { ids, 'z', lane, score, last } end
    end
  end
  return { ids, '', '', '', '' }
end
if not page(key(phase)) then return { ids, phase, '', score, last } end
return { ids, '', '', '', '' }
