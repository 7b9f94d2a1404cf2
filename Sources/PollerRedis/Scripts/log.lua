#!lua flags=no-writes
-- Reads the logs of items after a seq, each in one step: positions shift while events are added.
--
-- KEYS[1]  meta key of the partition
-- ARGV     for each item: id, seq, most events
-- RETURNS  for each item the entries that hold them, oldest first
-- USES     lib_folded_events
-- COST     three reads for each item, and two more if its log does not go back that far
local reply = {}
for at = 1, #ARGV, 3 do
  local id, most = ARGV[at], tonumber(ARGV[at + 2])
  local log = key(KEY.log, id)
  local newest = tonumber(call('HGET', key(KEY.item, id), ITEM.seq) or 0)
  local behind = math.max(newest - tonumber(ARGV[at + 1]), 0)
  local length = call('LLEN', log)
  local first = math.max(length - behind, 0)
  local entries = call('LRANGE', log, int(first), int(first + most - 1))
  local folded = behind > length and folded_in(id)
  if folded then table.insert(entries, 1, folded) end
  table.insert(reply, entries)
end
return reply
