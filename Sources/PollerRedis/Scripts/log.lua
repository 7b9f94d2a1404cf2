#!lua flags=no-writes
-- Reads an item's own log after a seq, in one call: positions shift while events are added.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, seq, most events
-- RETURNS  the entries that hold them, oldest first
-- USES     lib_folded_events
-- COST     three reads, and two more if the log does not go back that far
local log = key(KEY.log, ARGV[1])
local newest = tonumber(call('HGET', key(KEY.item, ARGV[1]), ITEM.seq) or 0)
local behind = math.max(newest - tonumber(ARGV[2]), 0)
local length = call('LLEN', log)
local first = math.max(length - behind, 0)
local entries = call('LRANGE', log, int(first), int(first + tonumber(ARGV[3]) - 1))
local folded = behind > length and folded_in(ARGV[1])
if folded then table.insert(entries, 1, folded) end
return entries
