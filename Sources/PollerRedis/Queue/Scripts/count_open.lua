#!lua flags=no-writes
-- Counts the open items of some lanes, and how many of some items are open.
--
-- An open item is either in a schedule of its lane or has a lease, which its lane counts.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the number of lanes, their names, and ids
-- RETURNS  {open items of the first lane, …, how many of the ids are open}
-- COST     three reads per lane, one per id
local lanes_end, open, reply = 1 + number(ARGV[1]), 0, {}
for at = 2, lanes_end do
  local name = ARGV[at]
  reply[#reply + 1] = call('ZCARD', key(URGENT, name)) + call('ZCARD', key(NORMAL, name))
    + number(call('HGET', key(KEY.lane, name), LANE.inFlight) or 0)
end
for at = lanes_end + 1, #ARGV do
  local w = call('HMGET', key(KEY.item, ARGV[at]), ITEM.source, ITEM.closed)
  if w[1] and not w[2] then open = open + 1 end
end
reply[#reply + 1] = open
return reply
