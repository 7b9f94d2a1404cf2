#!lua
-- Adds a note to an item, unless the same note was added a moment ago. A full store rejects it: no decision depends on
-- notes.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, note (JSON), most notes, time to live ms, ms within which the same note is not added again
-- RETURNS  1, or 0 when there is no such item or it has the note already
-- COST     three reads, three writes
local id, note, repeat_span = ARGV[1], ARGV[2], number(ARGV[5])
local _, wall = clocks()
if call('EXISTS', key(KEY.item, id)) == 0 then return 0 end
local notes = key(KEY.notes, id)
for _, line in ipairs(call('LRANGE', notes, -8, -1)) do
  local at, text = match(line, '^(%d+) (.*)$')
  if text == note and wall - number(at) < repeat_span then return 0 end
end
call('RPUSH', notes, int(wall) .. ' ' .. note)
call('LTRIM', notes, -number(ARGV[3]), -1)
call('PEXPIRE', notes, ARGV[4])
return 1
