#!lua
-- Puts watches into the index that are not in it under all of their entries.
--
-- KEYS[1]  meta key of the partition
-- ARGV     for each watch two values: id, entries (searching.lua)
-- RETURNS  how many were there to be put
-- USES     created, searching
-- COST     two reads and a write a watch, and a write an entry
local count = 0
for at = 1, #ARGV, 2 do
  local id = ARGV[at]
  if call('EXISTS', key(KEY.item, id)) == 1 then
    add_to_index(id, ARGV[at + 1])
    count = count + 1
  end
end
return count
