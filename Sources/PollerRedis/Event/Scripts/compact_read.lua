#!lua flags=no-writes
-- Reads the logs of items that were closed some time ago, so that their events can be packed together or reduced.
--
-- Closed items are sorted by the time they were closed, and the position reached is stored. Each item is read once, and
-- once more after it was reopened and closed again.
--
-- KEYS[1]  meta key of the partition
-- ARGV     retention ms, approximate number of items, the field of the position, the fewest entries of a log
-- RETURNS  {} when there are none, else the position of the last item, 1 if there may be more, else 0, and for each item
--          with a log {id, seq, source, lane, its log}
-- USES     lib_compacted_events
-- COST     two reads per item, and another per item with a log
-- The size of a reply, exceeded by at most the logs of one millisecond. A log of a hundred large events is several MiB.
local BYTES_MAX = 1048576
local since = call('HGET', KEYS[1], ARGV[3]) or '-inf'
local oldest = int(older_than(number(ARGV[1])))
local found = call('ZRANGE', key(KEY.closed), '(' .. since, oldest, 'BYSCORE', 'LIMIT', 0, number(ARGV[2]),
  'WITHSCORES')
if #found == 0 then return {} end
-- Items closed in the same millisecond as the last one are read too, because the stored position passes them.
local last = found[#found]
local items = call('ZRANGE', key(KEY.closed), '(' .. since, last, 'BYSCORE', 'WITHSCORES')
local reply, bytes = { last, #found >= 2 * number(ARGV[2]) and 1 or 0 }, 0
for n = 1, #items, 2 do
  local id, closed_at = items[n], items[n + 1]
  if bytes > BYTES_MAX and closed_at ~= items[n - 1] then
    reply[1], reply[2] = items[n - 1], 1
    break
  end
  local log = whole_log(id)
  if #log >= number(ARGV[4]) then
    local w = call('HMGET', key(KEY.item, id), ITEM.seq, ITEM.source, ITEM.lane)
    reply[#reply + 1] = { id, w[1] or '0', w[2] or '', w[3] or '', log }
    for _, entry in ipairs(log) do bytes = bytes + #entry end
  end
end
return reply
