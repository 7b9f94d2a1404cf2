#!lua flags=no-writes
-- Reads an item's own log behind a seq, in one piece: positions shift while events are added.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, seq, most events
-- RETURNS  the events, oldest first
-- COST     three reads
local log = key(KEY.log, ARGV[1])
local newest = tonumber(call('HGET', key(KEY.item, ARGV[1]), ITEM.seq) or 0)
local behind = math.max(newest - tonumber(ARGV[2]), 0)
local first = math.max(call('LLEN', log) - behind, 0)
return call('LRANGE', log, int(first), int(first + tonumber(ARGV[3]) - 1))
