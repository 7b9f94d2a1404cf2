-- Preface of the scripts that record events and attempts.

-- Records events, from `events[first]` to `events[last]` two values each: the JSON, and the same packed
-- (PackedEvent.swift) or '' to store the JSON. The first has number `seq`. The item's log gets the events, the outbox
-- their numbers in that log, and a channel ('' for none) the JSON. The stream comes first: it can fail. Callers do not
-- know the item's metadata, so the script adds them to each event.
local function record(id, seq, channel, events, first, last)
  local w = call('HMGET', key(KEY.item, id), ITEM.metadata, ITEM.lane)
  local metadata = metadata_of(id, w[1])
  for at = first, last, 2 do
    local json, stored = events[at], events[at + 1]
    if metadata then json = sub(json, 1, -2) .. ',"metadata":' .. metadata .. '}' end
    if stored == '' then stored = json elseif metadata then stored = stored .. metadata end
    local number = text(seq + (at - first) / 2)
    call('XADD', key(KEY.outbox), '*', ENTRY.item, id, ENTRY.lane, w[2] or '', ENTRY.seq, number)
    call('RPUSH', key(KEY.log, id), stored)
    if channel ~= '' then call('PUBLISH', channel, json) end
  end
  call('LTRIM', key(KEY.log, id), -100, -1)
  local newest = last - first > 1 and text(seq + (last - first - 1) / 2) or seq
  call('HSET', key(KEY.item, id), ITEM.seq, newest)
end

-- Adds a line to the item's log of attempts. The log expires `ms` after its newest line.
local function log_attempt(id, line, ms)
  local log = key(KEY.attempts, id)
  if call('RPUSH', log, line) > 20 then call('LPOP', log) end
  call('PEXPIRE', log, ms)
end
