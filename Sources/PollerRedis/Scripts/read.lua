#!lua flags=no-writes
-- Reads all that is known about some items at one moment.
--
-- KEYS[1]  meta key of the partition
-- ARGV     accounts, each between spaces, or '' for all; then ids. What is of others is not there
-- RETURNS  for each {} when there is none, else {hash, long values, newest event or '', due ms or '', set aside
--          ms or ''}; the first two are flat lists of field and value
-- USES     folding
-- COST     six reads an item, and one more of those set aside, two of those without a log
local _, _, back = clocks()
local reply = {}
for at = 1, #ARGV - 1 do
  local id = ARGV[at + 1]
  local w = is_of(ARGV[1], id) and call('HGETALL', key(KEY.item, id)) or {}
  if #w == 0 then
    reply[at] = {}
  else
    local item = call('HMGET', key(KEY.item, id), ITEM.lane, ITEM.closed)
    local lane = item[1]
    local aside = item[2] == CLOSED.dead and call('ZSCORE', key(KEY.quarantine), id)
    local due = call('ZSCORE', key(URGENT, lane), id) or call('ZSCORE', key(REST, lane), id)
    reply[at] = {
      w,
      call('HGETALL', key(KEY.long, id)),
      call('LINDEX', key(KEY.log, id), -1) or folded_in(id) or '',
      due and int(due - back) or '',
      aside or '',
    }
  end
end
return reply
