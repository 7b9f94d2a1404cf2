#!lua
-- Puts watches into the index that are not, or not under all of their entries, and takes them from under
-- one that they do not need.
--
-- KEYS[1]  meta key of the partition
-- ARGV     for each watch three values: id, entries (searching.lua), the entry it does not need or ''
-- RETURNS  how many were there to be put
-- USES     created, searching
-- COST     three reads and two writes a watch, and a write an entry
local count = 0
for at = 1, #ARGV, 3 do
  local id = ARGV[at]
  local lane = call('HGET', key(KEY.item, id), ITEM.lane)
  if lane then
    -- Before its entry goes: from then on its lane is where it is found.
    call('ZADD', key(KEY.knownLanes), '0', lane)
    add_to_index(id, ARGV[at + 1])
    if ARGV[at + 2] ~= '' then drop_from_index(id, ARGV[at + 2]) end
    count = count + 1
  end
end
return count
