#!lua
-- Restores watches from an archive: closed as they were, with their events. An existing watch, open or closed, is left
-- unchanged. Nothing is delivered: no item is in a schedule or in the outbox, and no event is published.
--
-- Their age counts from now on. Otherwise a watch that outlived its retention in the archive would be removed at once.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     for each watch: id, source, state (see WatchRecord), lane, beginning and deadline ms, run, seq, why it is
--          closed, its stored payment or '', its order or '', seq of the last event that is missing, notify (URLs by
--          newline) and metadata, which may be short (see ShortText), last error or '', entries in the index
--          (lib_search_index.lua), how many values its options have, how many entries its log has, the options (each
--          field, then its value; WatchOption), and the log
-- RETURNS  for each 1, or 0 where there is one already
-- ERRORS   IDCLASH: another source has this id; nothing of the batch is written
-- USES     lib_texts, lib_created_index, lib_search_index, lib_compacted_events
-- COST     one read for an existing watch; else seven writes and two reads, one per entry in the index and one for the
--          log
local VALUES = 18
local _, wall = clocks()
local at = 1
while ARGV[at] do
  local source = call('HGET', key(KEY.item, ARGV[at]), ITEM.source)
  if source and source ~= ARGV[at + 1] then
    return redis.error_reply(ERROR.idClash .. ' ' .. ARGV[at] .. ' is the id of another source')
  end
  at = at + VALUES + ARGV[at + VALUES - 2] + ARGV[at + VALUES - 1]
end

local function restore(first, options, log)
  local id, source, state, lane = unpack(ARGV, first, first + 3)
  local began, deadline, run, seq, closed = unpack(ARGV, first + 4, first + 8)
  local payment, order, forgotten = unpack(ARGV, first + 9, first + 11)
  local notify, metadata, err, terms = unpack(ARGV, first + 12, first + 15)
  local log_at = first + VALUES + options
  local item = key(KEY.item, id)
  if call('EXISTS', item) == 1 then return 0 end
  local entry = log > 0 and ARGV[log_at]
  if log == 1 and byte(entry) == PACKED.compacted then
    store_compacted(id, entry)
  elseif log > 0 then
    call('RPUSH', key(KEY.log, id), unpack(ARGV, log_at, log_at + log - 1))
  end
  local values = { ITEM.source, source, ITEM.lane, lane, ITEM.began, began, ITEM.deadline, deadline,
    ITEM.run, run, ITEM.seq, seq, ITEM.closed, closed, ITEM.state, state }
  local long = {}
  for n = first + VALUES, log_at - 1, 2 do add(values, ARGV[n], ARGV[n + 1]) end
  set_text(notify, values, ITEM.notify, long, LONG.notify)
  set_text(metadata, values, ITEM.metadata, long, LONG.metadata)
  call('HSET', item, unpack(values))
  if payment ~= '' then call('HSET', item, ITEM.payment, payment) end
  if order ~= '' then call('HSET', item, ITEM.order, order) end
  if forgotten ~= '0' then call('HSET', item, ITEM.forgottenSeq, forgotten) end
  if err ~= '' then
    call('HSET', item, ITEM.hasError, '1')
    add(long, LONG.error, err)
  end
  if #long > 0 then call('HSET', key(KEY.long, id), unpack(long)) end
  call('ZADD', key(KEY.knownLanes), '0', lane)
  if terms ~= '' then add_to_index(id, terms) end
  call('ZADD', key(KEY.closed), int(wall), id)
  add_created(KEY.closedCreated, created_entry(id, lane, began))
  return 1
end

local replies = {}
at = 1
while ARGV[at] do
  local options, log = number(ARGV[at + VALUES - 2]), number(ARGV[at + VALUES - 1])
  replies[#replies + 1] = restore(at, options, log)
  at = at + VALUES + options + log
end
-- If all watches exist, nothing was written. This write lets the caller wait for replicas.
call('HSET', KEYS[1], META.joined, int(wall))
return replies
