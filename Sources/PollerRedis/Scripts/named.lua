#!lua flags=no-writes
-- Which of some items there are that are not under an entry of the index each.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, entry, id, entry, …
-- RETURNS  the ids of those that there are
-- USES     created, searching
-- COST     one read an item
local found = {}
for at = 1, #ARGV, 2 do
  local w = call('HMGET', key(KEY.item, ARGV[at]), ITEM.source, ITEM.terms)
  if w[1] and not (w[2] and place_among(w[2], ARGV[at + 1])) then found[#found + 1] = ARGV[at] end
end
return found
