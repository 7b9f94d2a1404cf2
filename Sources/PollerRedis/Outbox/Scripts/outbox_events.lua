#!lua flags=no-writes
-- Reads events from their items' logs, because the outbox has only their numbers.
--
-- KEYS[1]  meta key of the partition
-- ARGV     for each event: item, seq
-- RETURNS  for each {event, source, lane, notify URLs}; '' for an event that is gone
-- USES     lib_texts, lib_compacted_events
-- COST     three reads per event, and three more for an old one
local reply = {}
for at = 1, #ARGV, 2 do
  local id = ARGV[at]
  local w = call('HMGET', key(KEY.item, id), ITEM.source, ITEM.lane, ITEM.seq, ITEM.notify)
  -- The newest event is last. Reduced events are first, regardless of their number.
  local behind = bounded(w[3], 0) - number(ARGV[at + 1])
  local stored = behind >= 0 and call('LINDEX', key(KEY.log, id), text(-1 - behind))
  if not stored then
    local first = call('LINDEX', key(KEY.log, id), '0')
    stored = first and byte(first) == PACKED.compacted and first or compacted_in(id)
  end
  reply[#reply + 1] = { stored or '', w[1] or '', w[2] or '', notify_of(id, w[4]) or '' }
end
return reply
