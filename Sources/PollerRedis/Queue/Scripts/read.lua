#!lua flags=no-writes
-- Reads all data of some items at one moment.
--
-- KEYS[1]  meta key of the partition
-- ARGV     accounts, each between spaces, or '' for all; then ids. Items of other accounts are not found
-- RETURNS  for each item the result of read_item (lib_read_item.lua)
-- USES     lib_compacted_events, lib_read_item
-- COST     that of read_item for each, and one read where accounts are given
local _, _, back = clocks()
local reply = {}
for at = 1, #ARGV - 1 do
  local id = ARGV[at + 1]
  reply[at] = item_is_in_accounts(ARGV[1], id) and read_item(id, back) or {}
end
return reply
