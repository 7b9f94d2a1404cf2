-- Preface of the scripts that record events and attempts.

-- Records events, from `events[first]` to `events[last]` two values each: the JSON, and the same packed
-- (PackedEvent.swift) or '' to store the JSON. The first has number `seq`. The item's log gets the events, the outbox
-- their numbers in that log, and a channel ('' for none) the JSON. The stream comes first: it can fail. Callers do not
-- know the item's metadata, so the script adds them to each event. `payment` is the payment to store with them; nil or
-- '' keeps it.
local function record(id, seq, channel, events, first, last, payment)
  local w = call('HMGET', key(KEY.item, id), ITEM.metadata, ITEM.lane)
  local metadata = metadata_of(id, w[1])
  local log, whole, stored = key(KEY.log, id), {}, {}
  for at = first, last, 2 do
    local json, packed = events[at], events[at + 1]
    if metadata then json = sub(json, 1, -2) .. ',"metadata":' .. metadata .. '}' end
    if packed == '' then packed = json elseif metadata then packed = packed .. metadata end
    whole[#whole + 1], stored[#stored + 1] = json, packed
    local number = text(seq + #whole - 1)
    call('XADD', key(KEY.outbox), '*', ENTRY.item, id, ENTRY.lane, w[2] or '', ENTRY.seq, number)
  end
  -- Few logs are long enough to be cut.
  if call('RPUSH', log, unpack(stored)) > 100 then call('LTRIM', log, -100, -1) end
  if channel ~= '' then
    for _, json in ipairs(whole) do call('PUBLISH', channel, json) end
  end
  local newest = #whole > 1 and text(seq + #whole - 1) or seq
  if (payment or '') == '' then
    call('HSET', key(KEY.item, id), ITEM.seq, newest)
  else
    call('HSET', key(KEY.item, id), ITEM.seq, newest, ITEM.payment, payment)
  end
end

-- Adds a line to the item's log of attempts. The log expires `ms` after its newest line.
local function log_attempt(id, line, ms)
  local log = key(KEY.attempts, id)
  if call('RPUSH', log, line) > 20 then call('LPOP', log) end
  call('PEXPIRE', log, ms)
end
