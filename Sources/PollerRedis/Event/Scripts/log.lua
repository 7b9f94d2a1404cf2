#!lua flags=no-writes
-- Reads the logs of items after a seq, each in one step: positions shift while events are added.
--
-- KEYS[1]  meta key of the partition
-- ARGV     for each item: id, seq, most events
-- RETURNS  for each item the number of its last event in the reply and the number that the events follow, then the
--          entries that hold the events, oldest first; nil for those after a megabyte of entries
-- USES     lib_compacted_events
-- COST     two reads for each item, one more for a long log, and two more if its log does not go back that far
local BYTES_MAX = 1048576

local function entries_of(id, seq, most)
  local log = key(KEY.log, id)
  local newest = number(call('HGET', key(KEY.item, id), ITEM.seq) or 0)
  -- Some entries have several events, so there may be older ones than the log promises to keep.
  seq = max(seq, newest - LOG_MAX)
  local behind = max(newest - seq, 0)
  if behind == 0 then return { text(newest), text(seq) } end
  local entries, last, isShort
  if behind <= most then
    entries, last = call('LRANGE', log, text(-behind), '-1'), newest
    isShort = #entries < behind
  else
    local length = call('LLEN', log)
    local first = max(length - behind, 0)
    entries = call('LRANGE', log, text(first), text(first + most - 1))
    last, isShort = newest - length + first + #entries, length < behind
  end
  local compacted = isShort and compacted_in(id)
  if compacted then table.insert(entries, 1, compacted) end
  table.insert(entries, 1, text(seq))
  table.insert(entries, 1, text(last))
  return entries
end

local reply, bytes = {}, 0
for at = 1, #ARGV, 3 do
  -- A few logs may be longer than a reply may be. The first item always gets its entries.
  local entries = bytes <= BYTES_MAX and entries_of(ARGV[at], number(ARGV[at + 1]), number(ARGV[at + 2]))
  for _, entry in ipairs(entries or {}) do bytes = bytes + #entry end
  table.insert(reply, entries)
end
return reply
