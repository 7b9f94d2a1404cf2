#!lua flags=no-writes
-- Lists the lanes and items of a partition that are to be moved, in pages.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the list: lanes of a kind of key (s occupied, L known), k those with settings, or items of one (h closed, d
--          orders, x set aside), or of a lane (z, u and the lane); how many were listed before, most, lane or ''
-- RETURNS  {name, name, …} of lanes; {item, lane, item, lane, …} of items
-- COST     O(log n + most); one read per item
local kind, offset, limit = ARGV[1], number(ARGV[2]), number(ARGV[3])
if kind == KEY.lanesWithSettings then return call('SMEMBERS', key(kind)) end
local set = key(kind, ARGV[4] ~= '' and ARGV[4] or nil)
local names = call('ZRANGE', set, int(offset), int(offset + limit - 1))
if kind == KEY.occupiedLanes or kind == KEY.knownLanes then return names end
local reply = {}
for _, id in ipairs(names) do
  reply[#reply + 1] = id
  reply[#reply + 1] = call('HGET', key(KEY.item, id), ITEM.lane) or ''
end
return reply
