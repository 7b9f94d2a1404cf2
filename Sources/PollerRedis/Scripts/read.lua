#!lua flags=no-writes
-- Reads all that is known about one item at one moment.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id
-- RETURNS  {} when there is none, else {hash, long values, newest event or '', due ms or ''};
--          the first two are flat lists of field and value
-- COST     six reads
local id = ARGV[1]
local w = call('HGETALL', key(KEY.item, id))
if #w == 0 then return {} end
local lane = call('HGET', key(KEY.item, id), ITEM.lane)
local due = call('ZSCORE', key(URGENT, lane), id) or call('ZSCORE', key(REST, lane), id)
local _, _, back = clocks()
return {
  w,
  call('HGETALL', key(KEY.long, id)),
  call('LINDEX', key(KEY.log, id), -1) or '',
  due and int(due - back) or '',
}
