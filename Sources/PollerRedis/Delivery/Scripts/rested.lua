#!lua flags=no-writes
-- Reads deliveries that came to rest long ago, oldest first. Their watches decide whether they are removed (purge.lua).
--
-- KEYS[1]  meta key of the partition
-- ARGV     retention ms, most deliveries
-- RETURNS  id, source and facts of each
-- COST     one read per delivery
local oldest = int(older_than(number(ARGV[1])))
local reply = {}
for _, id in ipairs(call('ZRANGE', key(KEY.closed), '-inf', oldest, 'BYSCORE', 'LIMIT', 0, number(ARGV[2]))) do
  local w = call('HMGET', key(KEY.item, id), ITEM.source, ITEM.facts)
  for _, value in ipairs({ id, w[1] or '', w[2] or '' }) do reply[#reply + 1] = value end
end
return reply
