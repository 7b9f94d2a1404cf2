#!lua
-- Puts items into the index that are not, or not under all of their entries.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, entries side by side, id, entries, …
-- RETURNS  how many were there to be put
-- USES     searching
-- COST     two reads and a write an item, and a write an entry
local count = 0
for at = 1, #ARGV, 2 do
  if call('EXISTS', key(KEY.item, ARGV[at])) == 1 then
    add_to_index(ARGV[at], ARGV[at + 1])
    count = count + 1
  end
end
return count
