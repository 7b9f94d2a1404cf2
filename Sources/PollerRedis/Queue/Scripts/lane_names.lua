#!lua flags=no-writes
-- Returns the names of lanes that have had watches: lanes in which this release or a later one has enqueued, and lanes
-- that hold items of any release.
--
-- KEYS[1]  meta key of the partition
-- ARGV     where to begin, in the form of BYLEX ('-', '[name'), most names of either kind
-- RETURNS  {name after which the first kind may continue or '', the same of the second, name, name, …}, unordered; none
--          of a partition that is being filled
-- COST     O(log n + names)
if stage == STAGE.filling then return { '', '' } end
local known, occupied = key(KEY.knownLanes), key(KEY.occupiedLanes)
local function names_of(set)
  local names = call('ZRANGE', set, ARGV[1], '+', 'BYLEX', 'LIMIT', '0', ARGV[2])
  return names, #names == number(ARGV[2]) and names[#names] or ''
end
local first, first_end = names_of(known)
local second, second_end = names_of(occupied)
local reply, seen = { first_end, second_end }, {}
for _, list in ipairs({ first, second }) do
  for _, name in ipairs(list) do
    if not seen[name] then reply[#reply + 1] = name end
    seen[name] = true
  end
end
return reply
