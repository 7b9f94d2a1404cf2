#!lua flags=no-writes
-- Reads the logs of items after a seq, each in one step: positions shift while events are added.
--
-- KEYS[1]  meta key of the partition
-- ARGV     for each item: id, seq, most events
-- RETURNS  for each item the entries that hold them, oldest first; nil for those after a megabyte of entries
-- USES     lib_folded_events
-- COST     three reads for each item, and two more if its log does not go back that far
local BYTES_MAX = 1048576

local function entries_of(id, seq, most)
  local log = key(KEY.log, id)
  local newest = tonumber(call('HGET', key(KEY.item, id), ITEM.seq) or 0)
  local behind = math.max(newest - seq, 0)
  local length = call('LLEN', log)
  local first = math.max(length - behind, 0)
  local entries = call('LRANGE', log, int(first), int(first + most - 1))
  local folded = behind > length and folded_in(id)
  if folded then table.insert(entries, 1, folded) end
  return entries
end

local reply, bytes = {}, 0
for at = 1, #ARGV, 3 do
  -- A few logs may be longer than a reply may be. The first item always gets its entries.
  local entries = bytes <= BYTES_MAX and entries_of(ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]))
  for _, entry in ipairs(entries or {}) do bytes = bytes + #entry end
  table.insert(reply, entries)
end
return reply
