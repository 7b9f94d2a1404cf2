#!lua flags=no-writes
-- Reads the logs of items that were closed long ago, whose events are to lose their bodies.
--
-- Closed items stand in the order in which they were closed, and how far this has come is kept: each is
-- read once, and once more when it was opened and closed again.
--
-- KEYS[1]  meta key of the partition
-- ARGV     retention ms, about how many items
-- RETURNS  {} when there are none, else the place of the last one, how many were read, and for each that has a
--          log {id, seq, source, lane, its log}
-- USES     folding
-- COST     two reads for each item, and another for each that has a log
local since = call('HGET', KEYS[1], META.faded) or '-inf'
local oldest = int(older_than(number(ARGV[1])))
local found = call('ZRANGE', key(KEY.closed), '(' .. since, oldest, 'BYSCORE', 'LIMIT', 0, number(ARGV[2]),
  'WITHSCORES')
if #found == 0 then return {} end
-- Those that were closed in the same millisecond as the last one are behind what is kept, too.
local last = found[#found]
local ids = call('ZRANGE', key(KEY.closed), '(' .. since, last, 'BYSCORE')
local reply = { last, #ids }
for _, id in ipairs(ids) do
  local log = whole_log(id)
  if #log > 0 then
    local w = call('HMGET', key(KEY.item, id), ITEM.seq, ITEM.source, ITEM.lane)
    reply[#reply + 1] = { id, w[1] or '0', w[2] or '', w[3] or '', log }
  end
end
return reply
