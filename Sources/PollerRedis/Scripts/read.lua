#!lua flags=no-writes
-- Reads all that is known about some items at one moment.
--
-- KEYS[1]  meta key of the partition
-- ARGV     ids
-- RETURNS  for each {} when there is none, else {hash, long values, newest event or '', due ms or ''};
--          the first two are flat lists of field and value
-- COST     six reads an item
local _, _, back = clocks()
local reply = {}
for at, id in ipairs(ARGV) do
  local w = call('HGETALL', key(KEY.item, id))
  if #w == 0 then
    reply[at] = {}
  else
    local lane = call('HGET', key(KEY.item, id), ITEM.lane)
    local due = call('ZSCORE', key(URGENT, lane), id) or call('ZSCORE', key(REST, lane), id)
    reply[at] = {
      w,
      call('HGETALL', key(KEY.long, id)),
      call('LINDEX', key(KEY.log, id), -1) or '',
      due and int(due - back) or '',
    }
  end
end
return reply
