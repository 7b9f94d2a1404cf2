#!lua flags=no-writes
-- Counts what a partition holds.
--
-- KEYS[1]  meta key of the partition
-- RETURNS  {waiting, overdue, leased, closed, entries in the outbox, not yet acknowledged, lanes}
-- COST     two reads a lane, and the groups of the outbox
local now = clock()
local waiting, overdue = 0, 0
local lanes = redis.call('ZRANGE', key('a'), 0, -1)
for _, lane in ipairs(lanes) do
  waiting = waiting + redis.call('ZCARD', key('z', lane))
  overdue = overdue + redis.call('ZCOUNT', key('z', lane), '-inf', int(now))
end
local entries, open = redis.call('XLEN', key('e')), 0
if entries > 0 then
  open = entries
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', key('e'))) do
    local facts = {}
    for at = 1, #group, 2 do facts[group[at]] = group[at + 1] end
    if facts['name'] == 'notifier' then open = (facts['lag'] or 0) + facts['pending'] end
  end
end
return { waiting, overdue, redis.call('ZCARD', key('r')), redis.call('ZCARD', key('h')), entries,
  open, #lanes }
