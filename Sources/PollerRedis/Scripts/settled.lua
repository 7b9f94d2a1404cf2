#!lua flags=no-writes
-- Returns the time before which the notifiers have acknowledged every event of the partition.
--
-- KEYS[1]  meta key of the partition
-- RETURNS  ms, by the ids of the outbox: of the oldest entry that is not acknowledged, or now
-- COST     five reads
local stream, group = key(KEY.outbox), GROUP.notifier
if call('EXISTS', stream) == 0 then return int(clock()) end
local function facts_of(flat)
  local facts = {}
  for at = 1, #flat, 2 do facts[flat[at]] = flat[at + 1] end
  return facts
end
for _, flat in ipairs(call('XINFO', 'GROUPS', stream)) do
  local facts = facts_of(flat)
  if facts['name'] == group then
    local read, needed = facts['last-delivered-id'], nil
    local recorded = facts_of(call('XINFO', 'STREAM', stream))['last-generated-id']
    if facts['pending'] > 0 then
      needed = call('XPENDING', stream, group)[2]
    -- A new part of a split partition begins after numbers that it never had.
    elseif read ~= recorded and #call('XRANGE', stream, '(' .. read, '+', 'COUNT', '1') > 0 then
      needed = read
    end
    return needed and string.match(needed, '^%d+') or int(clock())
  end
end
-- Without the group, no entry has been read.
return '0'
