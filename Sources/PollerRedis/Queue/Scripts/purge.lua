#!lua flags=allow-oom
-- Removes items that were closed long ago, with their long values and their log. If a hint about money may still reopen
-- an item (see hint.lua), only its log is removed.
--
-- An item that stays keeps its position in the list of closed items, with the time from which its age counts. So it is
-- checked again when it may be removed, and costs nothing until then.
--
-- KEYS[1]  meta key of the partition
-- ARGV     retention ms, most items, afterlife ms: the longest time after its last poll that an item is kept for the
--          sake of its money; then, if the caller names the items, the id of each, and 1 to keep it for another day,
--          else 0
-- RETURNS  how many were removed or kept; of named items, how many were removed
-- USES     lib_created_index, lib_search_index
-- COST     five reads per item, one more for a named one; one write for its index entry by creation, one write for each
--          of its search entries, one variadic UNLINK of four keys per item; four writes for an item that is kept
local DAY, HOUR = 86400000, 3600000
local retention, money_retention = number(ARGV[1]), number(ARGV[3])
local oldest = older_than(retention)
local ids = {}
if ARGV[4] then
  for at = 4, #ARGV, 2 do
    -- An item that was reopened meanwhile is not old.
    local closed_at = number(call('ZSCORE', key(KEY.closed), ARGV[at]) or '')
    if closed_at and closed_at <= oldest then
      if ARGV[at + 1] == '1' then
        call('ZADD', key(KEY.closed), int(oldest + DAY), ARGV[at])
      else
        ids[#ids + 1] = ARGV[at]
      end
    end
  end
else
  ids = call('ZRANGE', key(KEY.closed), '-inf', int(oldest), 'BYSCORE', 'LIMIT', 0, number(ARGV[2]))
end
if #ids == 0 then return 0 end

-- Returns from when the age of an item that stays counts, ms, and the seq of its last event. The last day on which the
-- payment may change is the tenth value of the stored payment (PaymentMemory). The last poll is the fifth value of the
-- state (WatchRecord), for an order that of its newest attempt. Without one, the creation time counts. The minute and
-- second of that poll are added, so that the items of one day are not all checked in one call.
local PAYMENT, STATE = '^' .. string.rep('[^|]*|', 9) .. '(%w+)', '^' .. string.rep('[^|]*|', 4) .. '(%d+)'
local function kept_since(id)
  local w = call('HMGET', key(KEY.item, id), ITEM.closed, ITEM.payment, ITEM.state, ITEM.began, ITEM.seq)
  local day = w[2] and match(w[2], PAYMENT)
  if not day or w[1] == CLOSED.cancelled or w[1] == CLOSED.dead then return end
  local polled_at = bounded(w[3] and match(w[3], STATE) or w[4], 0)
  local since = min((tonumber(day, 36) + 1) * DAY, polled_at + money_retention) + polled_at % HOUR - retention
  if since > oldest then return since, w[5] end
end

local keys, removed = {}, {}
for _, id in ipairs(ids) do
  local since, seq
  if money_retention > 0 then since, seq = kept_since(id) end
  keys[#keys + 1] = key(KEY.log, id)
  if since then
    call('ZADD', key(KEY.closed), int(since), id)
    if seq then call('HSET', key(KEY.item, id), ITEM.forgottenSeq, seq) end
    call('HDEL', key(KEY.item, id), ITEM.compacted, ITEM.compactedMore)
  else
    removed[#removed + 1] = id
    local w = call('HMGET', key(KEY.item, id), ITEM.lane, ITEM.began)
    remove_from_index(id)
    if w[1] then remove_created(KEY.closedCreated, created_entry(id, w[1], w[2])) end
    keys[#keys + 1] = key(KEY.item, id)
    keys[#keys + 1] = key(KEY.long, id)
    keys[#keys + 1] = key(KEY.notes, id)
  end
end
call('UNLINK', unpack(keys))
if #removed > 0 then
  call('ZREM', key(KEY.closed), unpack(removed))
  call('ZREM', key(KEY.quarantine), unpack(removed))
  call('ZREM', key(KEY.orders), unpack(removed))
  call('SREM', key(KEY.incidentItems), unpack(removed))
end
return #ids
