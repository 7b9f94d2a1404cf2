#!lua flags=allow-oom
-- Keeps entries of the outbox in the hands of the notifier that is at work on them, and notes how far it
-- has come with their marks.
--
-- One that another notifier has taken over, or that is acknowledged, stays as it is: who lost it must not
-- take it back, nor put back how far the other has come.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the notifier; for each entry two values: its id, and how far it has come (FanOutPosition) or ''
-- RETURNS  the ids of those that the notifier has no more
-- COST     a read for each entry, and two writes
local stream, positions = key(KEY.outbox), key(KEY.fanOuts)
local claim, lost, isNoted = { stream, GROUP.notifier, ARGV[1], 0 }, {}, false
for at = 2, #ARGV, 2 do
  local id = ARGV[at]
  if #call('XPENDING', stream, GROUP.notifier, id, id, 1, ARGV[1]) == 0 then
    lost[#lost + 1] = id
  else
    claim[#claim + 1] = id
    if ARGV[at + 1] ~= '' then
      call('HSET', positions, id, ARGV[at + 1])
      isNoted = true
    end
  end
end
if #claim > 4 then
  claim[#claim + 1] = 'JUSTID'
  call('XCLAIM', unpack(claim))
end
-- What a crash between an acknowledgement and the forgetting leaves goes by itself, in a day.
if isNoted then call('PEXPIRE', positions, 86400000) end
return lost
