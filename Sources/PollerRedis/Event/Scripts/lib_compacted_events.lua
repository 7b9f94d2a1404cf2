-- Preface of the scripts that read or write reduced events (CompactedEvents.swift).
--
-- A short value is stored in its item, in two fields that keep the hash compact (hash-max-listpack-value): a list of
-- its own takes Redis three times as much. A longer value is the first entry of the log. In both cases it precedes all
-- later events, and leaves the log with the hundredth of them.
local FIELD_MAX, LOG_MAX = 64, 100

-- Returns the reduced events stored in the item itself, or nil.
local function compacted_in(id)
  local w = call('HMGET', key(KEY.item, id), ITEM.compacted, ITEM.compactedMore)
  if w[1] and call('LLEN', key(KEY.log, id)) < LOG_MAX then return w[1] .. (w[2] or '') end
end

-- Returns the entries of an item's log, oldest first.
local function whole_log(id)
  local log, compacted = call('LRANGE', key(KEY.log, id), '0', '-1'), compacted_in(id)
  if compacted then table.insert(log, 1, compacted) end
  return log
end

-- Replaces an item's log with its reduced events.
local function store_compacted(id, stored)
  local item = key(KEY.item, id)
  call('DEL', key(KEY.log, id))
  call('HDEL', item, ITEM.compacted, ITEM.compactedMore)
  if #stored > 2 * FIELD_MAX then
    call('RPUSH', key(KEY.log, id), stored)
  else
    call('HSET', item, ITEM.compacted, sub(stored, 1, FIELD_MAX))
    if #stored > FIELD_MAX then call('HSET', item, ITEM.compactedMore, sub(stored, FIELD_MAX + 1)) end
  end
end
