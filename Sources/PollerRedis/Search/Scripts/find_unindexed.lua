#!lua flags=no-writes
-- Returns those of the given items that exist and lack their entry in the search index.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, entry, id, entry, …
-- RETURNS  the ids of these items
-- USES     lib_created_index, lib_search_index
-- COST     one read per item
local found = {}
for at = 1, #ARGV, 2 do
  local w = call('HMGET', key(KEY.item, ARGV[at]), ITEM.source, ITEM.terms)
  if w[1] and not (w[2] and term_position(w[2], ARGV[at + 1])) then found[#found + 1] = ARGV[at] end
end
return found
