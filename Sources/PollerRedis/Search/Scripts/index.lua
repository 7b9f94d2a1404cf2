#!lua
-- Adds watches to the search index that are missing from it, under all of their entries.
--
-- KEYS[1]  meta key of the partition
-- ARGV     for each watch two values: id, entries (lib_search_index.lua)
-- RETURNS  the number of watches that exist
-- USES     lib_created_index, lib_search_index
-- COST     two reads and one write per watch, and one write per entry
local count = 0
for at = 1, #ARGV, 2 do
  local id = ARGV[at]
  if call('EXISTS', key(KEY.item, id)) == 1 then
    add_to_index(id, ARGV[at + 1])
    count = count + 1
  end
end
return count
