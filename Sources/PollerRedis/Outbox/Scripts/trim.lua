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
local function parse_id(id)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(n)
end
local function is_earlier(a, b)
  local a_ms, a_n = parse_id(a)
  local b_ms, b_n = parse_id(b)
  if a_ms ~= b_ms then return a_ms < b_ms end
  return a_n < b_n
end

-- Without a group, no entry has been read.
local groups = call('XINFO', 'GROUPS', stream)
if #groups == 0 then return 0 end
local keep_from = int(older_than(tonumber(ARGV[1]))) .. '-0'
for _, group in ipairs(groups) do
  local fields = {}
  for at = 1, #group, 2 do fields[group[at]] = group[at + 1] end
  local oldest_needed
  if fields['pending'] > 0 then
    oldest_needed = call('XPENDING', stream, fields['name'])[2]
  else
    local ms, n = parse_id(fields['last-delivered-id'])
    oldest_needed = int(ms) .. '-' .. int(n + 1)
  end
  if is_earlier(oldest_needed, keep_from) then keep_from = oldest_needed end
  -- Each process reads under its own name. Other processes take over the entries it left behind.
  for _, consumer in ipairs(call('XINFO', 'CONSUMERS', stream, fields['name'])) do
    local reader = {}
    for at = 1, #consumer, 2 do reader[consumer[at]] = consumer[at + 1] end
    if reader['pending'] == 0 and reader['idle'] >= tonumber(ARGV[1]) then
      call('XGROUP', 'DELCONSUMER', stream, fields['name'], reader['name'])
    end
  end
end
local newest = call('XREVRANGE', stream, '(' .. keep_from, '-', 'COUNT', 1)[1]
if not newest then return 0 end
call('HSET', KEYS[1], META.trimmed, newest[1])
-- First trims whole nodes of the stream, of about a hundred entries, then the remainder of the last one. A step that
-- reached its limit has dropped more than half of it.
local limit = tonumber(ARGV[2])
local dropped = call('XTRIM', stream, 'MINID', '~', keep_from, 'LIMIT', int(limit))
if dropped < limit / 2 then dropped = dropped + call('XTRIM', stream, 'MINID', keep_from) end
return dropped
