#!lua
-- Sets the clock of a partition to that of the partition it is split from, or returns it; also where its outbox
-- continues.
--
-- The queue's clock must not go back for moved items. Nor may an event there have a lower number than earlier events of
-- the same payment.
--
-- KEYS[1]  meta key of the partition
-- ARGV     nothing to return it; else the values to set, as they were returned
-- RETURNS  {now ms of the queue, back, gap, its end, sum of gaps, reduced, history, marked before, compacted,
--          newest outbox id}
-- COST     five commands
local stream = key(KEY.outbox)
if #ARGV == 0 then
  local wall = clock()
  local m = call('HMGET', M, META.back, META.gap, META.gapEnd, META.gapsSum, META.reduced, META.history,
    META.markedBefore, META.compacted, META.seen)
  local back = max(number(m[1] or 0), number(m[9] or 0) - wall)
  local newest = redis.pcall('XINFO', 'STREAM', stream)
  local last = ''
  for at = 1, newest.err and 0 or #newest, 2 do
    if newest[at] == 'last-generated-id' then last = newest[at + 1] end
  end
  return { int(wall + back), int(back), m[2] or '', m[3] or '', m[4] or '', m[5] or '', m[6] or '', m[7] or '',
    m[8] or '', last }
end
local current = call('HMGET', M, META.back, META.seen)
call('HSET', M, META.back, int(max(number(ARGV[2]), number(current[1] or 0))),
  META.seen, int(max(number(ARGV[1]), number(current[2] or 0))))
local fields = { META.gap, META.gapEnd, META.gapsSum, META.reduced, META.history, META.markedBefore, META.compacted }
for at, field in ipairs(fields) do
  if ARGV[at + 2] ~= '' then call('HSET', M, field, ARGV[at + 2]) end
end
if ARGV[10] ~= '' then
  redis.pcall('XGROUP', 'CREATE', stream, GROUP.notifier, '0', 'MKSTREAM')
  -- Redis refuses a lower id.
  redis.pcall('XSETID', stream, ARGV[10])
end
return 1
