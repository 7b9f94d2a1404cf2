-- Preface of the scripts that record events and attempts.

-- Records events of an item, from `events[first]` to `events[last]` two values each: the JSON, and the same packed
-- (PackedEvent.swift) or '' to store the JSON. The first has number `seq`. The item's log gets the events, the outbox
-- their numbers in that log, and a channel ('' for none) the JSON. The log comes first: of one item, it may be damaged.
-- If the outbox rejects an entry, the log is restored. Callers do not know the item's metadata, so the script adds them
-- to each event; `short` is their short form, if any. The packed event gets the short form.
--
-- Returns the number of the last event, which the caller stores with the item.
local function record_events(id, lane, short, seq, channel, events, first, last)
  local metadata = metadata_of(id, short)
  local log, whole, stored = key(KEY.log, id), {}, {}
  for at = first, last, 2 do
    local json, packed = events[at], events[at + 1]
    if metadata then json = sub(json, 1, -2) .. ',"metadata":' .. metadata .. '}' end
    if packed == '' then packed = json elseif metadata then packed = packed .. (short or metadata) end
    whole[#whole + 1], stored[#stored + 1] = json, packed
  end
  local length, newest = call('RPUSH', log, unpack(stored)), nil
  for at = 0, #stored - 1 do
    newest = text(seq + at)
    local entry = redis.pcall('XADD', key(KEY.outbox), '*', ENTRY.item, id, ENTRY.lane, lane, ENTRY.seq, newest)
    if type(entry) == 'table' then
      call('LTRIM', log, '0', text(-1 - #stored))
      error(entry)
    end
  end
  -- Few logs are long enough to be cut.
  if length > 100 then call('LTRIM', log, '-100', '-1') end
  if channel ~= '' then
    for _, json in ipairs(whole) do call('PUBLISH', channel, json) end
  end
  return newest
end

-- Records events of an item that was not read, and stores the number of the last one.
local function record(id, seq, channel, events, first, last)
  local w = call('HMGET', key(KEY.item, id), ITEM.metadata, ITEM.lane)
  call('HSET', key(KEY.item, id), ITEM.seq, record_events(id, w[2] or '', w[1], seq, channel, events, first, last))
end

-- Adds an entry to the item's log of attempts. The log expires `ms` after its newest entry. If its key is damaged, only
-- the entry is lost: an event that was sent must not be sent again for it.
local function log_attempt(id, entry, ms)
  local log = key(KEY.attempts, id)
  local size = number(redis.pcall('RPUSH', log, entry))
  if not size then return end
  if size > 20 then call('LPOP', log) end
  call('PEXPIRE', log, text(ms))
end
