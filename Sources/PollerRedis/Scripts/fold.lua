#!lua flags=allow-oom
-- Puts what is left of events in the place of logs that bodies.lua has read.
--
-- A log to which something was added since, or that is gone, stays as it is. Where its item was opened again it
-- is read once more when that has closed; one that was only told of (announce.lua) keeps its bodies.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the place of the last item, then for each of them: id, seq, how many entries its log had, what is
--          left of them, or '' where nothing is to be written
-- RETURNS  how many were written
-- USES     folding
-- COST     four reads and four writes an item
local count = 0
for at = 2, #ARGV, 4 do
  local id, left = ARGV[at], ARGV[at + 3]
  if left ~= '' and #whole_log(id) == number(ARGV[at + 2])
    and (call('HGET', key(KEY.item, id), ITEM.seq) or '0') == ARGV[at + 1] then
    keep_folded(id, left)
    count = count + 1
  end
end
call('HSET', KEYS[1], META.faded, ARGV[1])
return count
