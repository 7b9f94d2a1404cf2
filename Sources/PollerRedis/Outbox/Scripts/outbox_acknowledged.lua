#!lua flags=no-writes
-- Returns the time before which the notifiers have acknowledged every event of the partition.
--
-- KEYS[1]  meta key of the partition
-- RETURNS  ms, by the ids of the outbox: of the oldest entry that is not acknowledged, or now
-- COST     five reads
local stream, group = key(KEY.outbox), GROUP.notifier
if call('EXISTS', stream) == 0 then return int(clock()) end
local function table_of(flat)
  local fields = {}
  for at = 1, #flat, 2 do fields[flat[at]] = flat[at + 1] end
  return fields
end
for _, flat in ipairs(call('XINFO', 'GROUPS', stream)) do
  local fields = table_of(flat)
  if fields['name'] == group then
    local read, oldest_pending = fields['last-delivered-id'], nil
    local newest = table_of(call('XINFO', 'STREAM', stream))['last-generated-id']
    if fields['pending'] > 0 then
      oldest_pending = call('XPENDING', stream, group)[2]
    -- A new part of a split partition begins after numbers that it never had.
    elseif read ~= newest and #call('XRANGE', stream, '(' .. read, '+', 'COUNT', '1') > 0 then
      oldest_pending = read
    end
    return oldest_pending and string.match(oldest_pending, '^%d+') or int(clock())
  end
end
-- Without the group, no entry has been read.
return '0'
