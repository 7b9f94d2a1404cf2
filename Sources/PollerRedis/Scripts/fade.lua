#!lua flags=allow-oom
-- Forgets the bodies of events of items that were closed long ago: what is left of each is its summary
-- (PackedEvent.swift), without the upstream's object and the metadata.
--
-- Of forms since which events are stored once this is bodies.lua's and fold.lua's.
--
-- Closed items stand in the order in which they were closed, and how far this has come is kept: each is
-- read once, and once more when it was opened and closed again. Events that a former release has recorded
-- as JSON stay as they are.
--
-- KEYS[1]  meta key of the partition
-- ARGV     retention ms, about how many items
-- RETURNS  how many items were read
-- COST     a read of a log for each item, and two writes for each that has bodies
local closed, since = key(KEY.closed), call('HGET', KEYS[1], META.faded) or '-inf'
local oldest = int(older_than(number(ARGV[1])))
local found = call('ZRANGE', closed, '(' .. since, oldest, 'BYSCORE', 'LIMIT', 0, number(ARGV[2]), 'WITHSCORES')
if #found == 0 then return 0 end
-- Those that were closed in the same millisecond as the last one are behind what is kept, too.
local last = found[#found]
local ids = call('ZRANGE', closed, '(' .. since, last, 'BYSCORE')

local function faded(entry)
  if byte(entry) ~= PACKED.mark or sub(entry, 6, 8) == '\0\0\0' then return end
  local summary = byte(entry, 2) * 256 + byte(entry, 3)
  return sub(entry, 1, 5) .. '\0\0\0\0\0\0' .. sub(entry, PACKED.head + 1, PACKED.head + summary)
end

for _, id in ipairs(ids) do
  local log, hasFaded = key(KEY.log, id), false
  local entries = call('LRANGE', log, 0, -1)
  for at, entry in ipairs(entries) do
    local rest = faded(entry)
    if rest then entries[at], hasFaded = rest, true end
  end
  if hasFaded then
    call('DEL', log)
    call('RPUSH', log, unpack(entries))
  end
end
call('HSET', KEYS[1], META.faded, last)
return #ids
