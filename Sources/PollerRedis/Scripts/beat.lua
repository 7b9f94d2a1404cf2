#!lua flags=allow-oom
-- Announces a process for a span, or takes it off the list; and lists all that are announced, if asked to.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     owner ('' to list only), span ms (0: leaves), what it says of itself, 1 when nothing is asked
-- RETURNS  {what, what, …}
-- COST     one write, O(processes) for the list
local now, list = clock(), key(KEY.members)
-- A process counts as gone after so long without a beat, ms: beyond it the clock was set back
-- since.
local SPAN_MAX = 60000
if ARGV[1] ~= '' then
  if tonumber(ARGV[2]) > 0 then
    call('HSET', list, ARGV[1], int(now + tonumber(ARGV[2])) .. ' ' .. ARGV[3])
  else
    call('HDEL', list, ARGV[1])
  end
end
if ARGV[4] == '1' then return {} end
local reply = {}
local all = call('HGETALL', list)
for at = 1, #all, 2 do
  local ends, what = string.match(all[at + 1], '^(%d+) (.*)$')
  if tonumber(ends) > now and tonumber(ends) <= now + SPAN_MAX then
    reply[#reply + 1] = what
  elseif ARGV[1] ~= '' then
    call('HDEL', list, all[at])
  end
end
return reply
