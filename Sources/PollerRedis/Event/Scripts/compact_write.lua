#!lua flags=allow-oom
-- Replaces the logs that compact_read.lua has read with their events packed together or reduced.
--
-- A log that has grown since, or is gone, is left unchanged. It is read again: an item that was reopened has another
-- position after it closes, and one that was announced to (announce.lua) has one from then.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the field of the position, the position of the last item, then for each item: id, seq, the number of entries
--          of its log, the entry that replaces them, or '' to write nothing
-- RETURNS  the number written
-- USES     lib_compacted_events
-- COST     four reads and four writes per item
local count = 0
for at = 3, #ARGV, 4 do
  local id, compacted = ARGV[at], ARGV[at + 3]
  if compacted ~= '' and #whole_log(id) == number(ARGV[at + 2])
    and (call('HGET', key(KEY.item, id), ITEM.seq) or '0') == ARGV[at + 1] then
    store_compacted(id, compacted)
    count = count + 1
  end
end
call('HSET', KEYS[1], ARGV[1], ARGV[2])
return count
