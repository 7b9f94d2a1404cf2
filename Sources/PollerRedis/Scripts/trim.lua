#!lua flags=allow-oom
-- Drops old outbox entries that the notifiers have acknowledged, and the names of notifiers that have not read for as
-- long.
--
-- KEYS[1]  meta key of the partition
-- ARGV     retention ms, about the most entries that are dropped
-- RETURNS  how many were dropped; there may be more if that is at least half of the most
-- COST     O(dropped), and two reads per group
local stream = key(KEY.outbox)
if call('EXISTS', stream) == 0 then return 0 end

-- Parses `<ms>-<n>` as two numbers: ids do not compare as strings.
local function parts(id)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(n)
end
local function earlier(a, b)
  local a_ms, a_n = parts(a)
  local b_ms, b_n = parts(b)
  if a_ms ~= b_ms then return a_ms < b_ms end
  return a_n < b_n
end

-- Without a group, no entry has been read.
local groups = call('XINFO', 'GROUPS', stream)
if #groups == 0 then return 0 end
local keep = int(older_than(tonumber(ARGV[1]))) .. '-0'
for _, group in ipairs(groups) do
  local facts = {}
  for at = 1, #group, 2 do facts[group[at]] = group[at + 1] end
  local needed
  if facts['pending'] > 0 then
    needed = call('XPENDING', stream, facts['name'])[2]
  else
    local ms, n = parts(facts['last-delivered-id'])
    needed = int(ms) .. '-' .. int(n + 1)
  end
  if earlier(needed, keep) then keep = needed end
  -- Each process reads under its own name. Other processes take over the entries it left behind.
  for _, consumer in ipairs(call('XINFO', 'CONSUMERS', stream, facts['name'])) do
    local reader = {}
    for at = 1, #consumer, 2 do reader[consumer[at]] = consumer[at + 1] end
    if reader['pending'] == 0 and reader['idle'] >= tonumber(ARGV[1]) then
      call('XGROUP', 'DELCONSUMER', stream, facts['name'], reader['name'])
    end
  end
end
local newest = call('XREVRANGE', stream, '(' .. keep, '-', 'COUNT', 1)[1]
if not newest then return 0 end
call('HSET', KEYS[1], META.trimmed, newest[1])
-- First trims whole nodes of the stream, of about a hundred entries, then the remainder of the last one. A step that
-- reached its limit has dropped more than half of it.
local most = tonumber(ARGV[2])
local dropped = call('XTRIM', stream, 'MINID', '~', keep, 'LIMIT', int(most))
if dropped < most / 2 then dropped = dropped + call('XTRIM', stream, 'MINID', keep) end
return dropped
