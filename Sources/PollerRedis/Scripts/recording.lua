-- Stands before the scripts that record events and attempts.

-- Records events, from `events[first]` to `events[last]` two values each: the JSON, and the same packed
-- (PackedEvent.swift) or '' to store the JSON. The first has number `seq`. They go to the item's log, to the
-- outbox (of some forms as a number in that log), and to who listens on a channel ('' for nobody). The stream
-- comes first: it can fail. Who makes an event does not know the item's metadata, which are put into each.
local function record(id, seq, channel, events, first, last)
  local w = call('HMGET', key(KEY.item, id), ITEM.notify, ITEM.metadata, ITEM.lane)
  local notify, metadata = texts_of(id, w[1], w[2])
  for at = first, last, 2 do
    local json, stored, field = events[at], events[at + 1], ENTRY.packed
    if metadata then json = sub(json, 1, -2) .. ',"metadata":' .. metadata .. '}' end
    if stored == '' then stored, field = json, ENTRY.event elseif metadata then stored = stored .. metadata end
    if byte(stored) == PACKED.once then
      local number = text(seq + (at - first) / 2)
      call('XADD', key(KEY.outbox), '*', ENTRY.item, id, ENTRY.lane, w[3] or '', ENTRY.seq, number)
    else
      call('XADD', key(KEY.outbox), '*', ENTRY.item, id, field, stored, ENTRY.notify, notify or '')
    end
    call('RPUSH', key(KEY.log, id), stored)
    if channel ~= '' then call('PUBLISH', channel, json) end
  end
  call('LTRIM', key(KEY.log, id), -100, -1)
  local newest = last - first > 1 and text(seq + (last - first - 1) / 2) or seq
  call('HSET', key(KEY.item, id), ITEM.seq, newest)
end

-- Adds a line to the item's log of attempts, which outlives its newest line by some ms.
local function note(id, line, ms)
  local log = key(KEY.attempts, id)
  if call('RPUSH', log, line) > 20 then call('LPOP', log) end
  call('PEXPIRE', log, ms)
end
