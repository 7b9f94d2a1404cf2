#!lua flags=allow-oom
-- Keeps entries of the outbox assigned to the notifier that processes them, and records its progress with their marks.
--
-- An entry that another notifier has taken over, or that is acknowledged, is left unchanged: the previous owner must
-- not take it back, nor reset the other's progress.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the notifier; for each entry two values: its id, and its progress (FanOutPosition) or ''
-- RETURNS  the ids of entries that the notifier no longer has
-- COST     one read per entry, and two writes
local stream, positions = key(KEY.outbox), key(KEY.fanOuts)
local command, lost, hasPositions = { stream, GROUP.notifier, ARGV[1], 0 }, {}, false
for at = 2, #ARGV, 2 do
  local id = ARGV[at]
  if #call('XPENDING', stream, GROUP.notifier, id, id, 1, ARGV[1]) == 0 then
    lost[#lost + 1] = id
  else
    command[#command + 1] = id
    if ARGV[at + 1] ~= '' then
      call('HSET', positions, id, ARGV[at + 1])
      hasPositions = true
    end
  end
end
if #command > 4 then
  command[#command + 1] = 'JUSTID'
  call('XCLAIM', unpack(command))
end
-- A crash between acknowledgement and removal leaves a position that expires within a day.
if hasPositions then call('PEXPIRE', positions, 86400000) end
return lost
