#!lua
-- Adds a note to an item, unless the same was noted a moment ago. Not in a full store: nothing is
-- decided by notes.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, note (JSON), most notes, ms to live, ms within which the same is not noted again
-- RETURNS  1, or 0 when there is no such item or it is noted already
-- COST     three reads, three writes
local id, note, pause = ARGV[1], ARGV[2], number(ARGV[5])
local _, wall = clocks()
if call('EXISTS', key(KEY.item, id)) == 0 then return 0 end
local notes = key(KEY.notes, id)
for _, kept in ipairs(call('LRANGE', notes, -8, -1)) do
  local at, text = match(kept, '^(%d+) (.*)$')
  if text == note and wall - number(at) < pause then return 0 end
end
call('RPUSH', notes, int(wall) .. ' ' .. note)
call('LTRIM', notes, -number(ARGV[3]), -1)
call('PEXPIRE', notes, ARGV[4])
return 1
