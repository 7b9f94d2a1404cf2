-- Preface of the scripts that read or write reduced events (CompactedEvents.swift).
--
-- A short value is stored in its item, in two fields that keep the hash compact (hash-max-listpack-value): a list of
-- its own takes Redis three times as much. A longer value is the first entry of the log. In both cases it precedes all
-- later events, and leaves the log with the hundredth of them.
local FIELD_MAX, LOG_MAX = 64, 100

-- Returns the reduced events stored in the item itself, or nil.
local function folded_in(id)
  local w = call('HMGET', key(KEY.item, id), ITEM.folded, ITEM.foldedMore)
  if w[1] and call('LLEN', key(KEY.log, id)) < LOG_MAX then return w[1] .. (w[2] or '') end
end

-- Returns the entries of an item's log, oldest first.
local function whole_log(id)
  local log, folded = call('LRANGE', key(KEY.log, id), '0', '-1'), folded_in(id)
  if folded then table.insert(log, 1, folded) end
  return log
end

-- Replaces an item's log with its reduced events.
local function store_folded(id, stored)
  local item = key(KEY.item, id)
  call('DEL', key(KEY.log, id))
  call('HDEL', item, ITEM.folded, ITEM.foldedMore)
  if #stored > 2 * FIELD_MAX then
    call('RPUSH', key(KEY.log, id), stored)
  else
    call('HSET', item, ITEM.folded, sub(stored, 1, FIELD_MAX))
    if #stored > FIELD_MAX then call('HSET', item, ITEM.foldedMore, sub(stored, FIELD_MAX + 1)) end
  end
end
