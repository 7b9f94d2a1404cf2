#!lua flags=allow-oom
-- Announces a process for a span, or removes it. Lists all announced processes, or those that left.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     owner ('' to list only), span ms (0: leaves), its description, 1 for no list, d for the processes that left
-- RETURNS  {description, description, …}; of those that left, `left ms, DEPARTURE, description`
-- COST     one write, O(processes) for the list; two more writes for each process that has left
local now, members, departures = clock(), key(KEY.members), key(KEY.departures)
-- The longest span of an announcement, ms. A process announced further ahead counts as gone: the clock was set back
-- since.
local SPAN_MAX = 60000
-- How long departures are kept, ms, and how many: enough for three deployments of thirty processes.
local RETENTION, COUNT_MAX = 86400000, 100

-- Records the departure of a process.
local function record_departure(owner, at, reason, description)
  call('HSET', departures, owner, int(at) .. ' ' .. reason .. ' ' .. description)
  call('PEXPIRE', departures, RETENTION)
  if call('HLEN', departures) <= COUNT_MAX then return end
  local oldest, oldest_ms
  local all = call('HGETALL', departures)
  for at = 1, #all, 2 do
    local ms = number(match(all[at + 1], '^%d+') or 0)
    if not oldest_ms or ms < oldest_ms then oldest, oldest_ms = all[at], ms end
  end
  call('HDEL', departures, oldest)
end

if ARGV[1] ~= '' then
  if number(ARGV[2]) > 0 then
    local isNew = call('HSET', members, ARGV[1], int(now + number(ARGV[2])) .. ' ' .. ARGV[3]) == 1
    -- The process was listed as lost while the store was unavailable, or while the process was stopped.
    if isNew then call('HDEL', departures, ARGV[1]) end
  else
    local description = match(call('HGET', members, ARGV[1]) or '', '^%d+ (.*)$')
    if description then record_departure(ARGV[1], now, DEPARTURE.clean, description) end
    call('HDEL', members, ARGV[1])
  end
end
if ARGV[4] == '1' then return {} end
local reply = {}
if ARGV[4] == 'd' then
  local all = call('HGETALL', departures)
  for at = 1, #all, 2 do
    if number(match(all[at + 1], '^%d+') or 0) > now - RETENTION then reply[#reply + 1] = all[at + 1] end
  end
  return reply
end
local all = call('HGETALL', members)
for at = 1, #all, 2 do
  local ends, description = match(all[at + 1], '^(%d+) (.*)$')
  local ms = number(ends or 0)
  if ms > now and ms <= now + SPAN_MAX then
    reply[#reply + 1] = description
  elseif ARGV[1] ~= '' then
    if description and ms <= now then record_departure(all[at], ms, DEPARTURE.lost, description) end
    call('HDEL', members, all[at])
  end
end
return reply
