#!lua flags=no-writes
-- Finds the items in quarantine, the newest first, with the lane of each.
--
-- KEYS[1]  meta key of the partition
-- ARGV     most items
-- RETURNS  {their total number, id, lane, id, lane, …}; none for a partition that is being filled
-- COST     one read per item
if stage == STAGE.filling then return { 0 } end
local ids = call('ZREVRANGE', key(KEY.quarantine), '0', number(ARGV[1]) - 1)
local reply = { call('ZCARD', key(KEY.quarantine)) }
for _, id in ipairs(ids) do
  local lane = call('HGET', key(KEY.item, id), ITEM.lane)
  if lane then
    reply[#reply + 1] = id
    reply[#reply + 1] = lane
  end
end
return reply
