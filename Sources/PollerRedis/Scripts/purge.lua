#!lua flags=allow-oom
-- Forgets items that were closed long ago, with their long values and their log; of those that news of
-- their money may still open (see hint.lua) the log alone.
--
-- What stays keeps its place in the list of closed items, with the instant from which its age is to be
-- counted: so it is looked at again when it may be forgotten, and costs nothing until then.
--
-- KEYS[1]  meta key of the partition
-- ARGV     retention ms, most items, afterlife ms: how long after its last poll an item is kept for the
--          sake of its money, at most
-- RETURNS  how many were forgotten or spared
-- USES     created, searching
-- COST     five reads an item, a write for its place by creation, a write for each of its entries in the index, one variadic UNLINK of four keys an item; of one that is spared four writes
local DAY, HOUR = 86400000, 3600000
local retention, afterlife = number(ARGV[1]), number(ARGV[3])
local oldest = older_than(retention)
local ids = call('ZRANGE', key(KEY.closed), '-inf', int(oldest), 'BYSCORE', 'LIMIT', 0, number(ARGV[2]))
if #ids == 0 then return 0 end

-- From when the age of an item counts that is to stay, ms, and the seq of its last event. The last day on
-- which there may be news is the tenth value of what is remembered of the payment (PaymentMemory), the
-- last poll the fifth of the state (WatchRecord); an order, which is not polled, has its beginning. The
-- minute and second of that poll are added, so that those of one day are not all looked at in one call.
local PAYMENT, STATE = '^' .. string.rep('[^|]*|', 9) .. '(%w+)', '^' .. string.rep('[^|]*|', 4) .. '(%d+)'
local function spared(id)
  local w = call('HMGET', key(KEY.item, id), ITEM.closed, ITEM.payment, ITEM.state, ITEM.began, ITEM.seq)
  local day = w[2] and match(w[2], PAYMENT)
  if not day or w[1] == CLOSED.cancelled or w[1] == CLOSED.dead then return end
  local looked = bounded(w[3] and match(w[3], STATE) or w[4], 0)
  local since = min((tonumber(day, 36) + 1) * DAY, looked + afterlife) + looked % HOUR - retention
  if since > oldest then return since, w[5] end
end

local keys, forgotten = {}, {}
for _, id in ipairs(ids) do
  local since, seq
  if afterlife > 0 then since, seq = spared(id) end
  keys[#keys + 1] = key(KEY.log, id)
  if since then
    call('ZADD', key(KEY.closed), int(since), id)
    if seq then call('HSET', key(KEY.item, id), ITEM.forgottenSeq, seq) end
    call('HDEL', key(KEY.item, id), ITEM.folded, ITEM.foldedMore)
  else
    forgotten[#forgotten + 1] = id
    local w = call('HMGET', key(KEY.item, id), ITEM.lane, ITEM.began)
    take_from_index(id)
    if w[1] then drop_created(KEY.closedCreated, created_entry(id, w[1], w[2])) end
    keys[#keys + 1] = key(KEY.item, id)
    keys[#keys + 1] = key(KEY.long, id)
    keys[#keys + 1] = key(KEY.notes, id)
  end
end
call('UNLINK', unpack(keys))
if #forgotten > 0 then
  call('ZREM', key(KEY.closed), unpack(forgotten))
  call('ZREM', key(KEY.quarantine), unpack(forgotten))
  call('ZREM', key(KEY.orders), unpack(forgotten))
  call('SREM', key(KEY.incidentItems), unpack(forgotten))
end
return #ids
