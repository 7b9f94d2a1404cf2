#!lua flags=allow-oom
-- Announces a process for a span, or removes it. Lists all announced processes, or those that left.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     owner ('' to list only), span ms (0: leaves), its description, 1 for no list, d for the processes that left
-- RETURNS  {description, description, …}; of those that left, `left ms, DEPARTURE, description`
-- COST     one write, O(processes) for the list; two more writes for each process that has left
local now, list, left = clock(), key(KEY.members), key(KEY.departures)
-- The longest span of an announcement, ms. A process announced further ahead counts as gone: the clock was set back
-- since.
local SPAN_MAX = 60000
-- How long departures are kept, ms, and how many: enough for three deployments of thirty processes.
local KEPT, KEPT_MAX = 86400000, 100

-- Records the departure of a process.
local function depart(owner, at, how, what)
  call('HSET', left, owner, int(at) .. ' ' .. how .. ' ' .. what)
  call('PEXPIRE', left, KEPT)
  if call('HLEN', left) <= KEPT_MAX then return end
  local oldest, since
  local all = call('HGETALL', left)
  for at = 1, #all, 2 do
    local ms = number(match(all[at + 1], '^%d+') or 0)
    if not since or ms < since then oldest, since = all[at], ms end
  end
  call('HDEL', left, oldest)
end

if ARGV[1] ~= '' then
  if number(ARGV[2]) > 0 then
    local isNew = call('HSET', list, ARGV[1], int(now + number(ARGV[2])) .. ' ' .. ARGV[3]) == 1
    -- The process was listed as lost while the store was unavailable, or while the process was stopped.
    if isNew then call('HDEL', left, ARGV[1]) end
  else
    local what = match(call('HGET', list, ARGV[1]) or '', '^%d+ (.*)$')
    if what then depart(ARGV[1], now, DEPARTURE.clean, what) end
    call('HDEL', list, ARGV[1])
  end
end
if ARGV[4] == '1' then return {} end
local reply = {}
if ARGV[4] == 'd' then
  local all = call('HGETALL', left)
  for at = 1, #all, 2 do
    if number(match(all[at + 1], '^%d+') or 0) > now - KEPT then reply[#reply + 1] = all[at + 1] end
  end
  return reply
end
local all = call('HGETALL', list)
for at = 1, #all, 2 do
  local ends, what = match(all[at + 1], '^(%d+) (.*)$')
  local ms = number(ends or 0)
  if ms > now and ms <= now + SPAN_MAX then
    reply[#reply + 1] = what
  elseif ARGV[1] ~= '' then
    if what and ms <= now then depart(all[at], ms, DEPARTURE.lost, what) end
    call('HDEL', list, all[at])
  end
end
return reply
