#!lua
-- Puts watches back that an archive has: closed as they were, with what was told of them. What is there, open
-- or closed, stays as it is. Nobody is told anything: nothing is in a wheel or in the outbox, and nothing is
-- published.
--
-- Their age counts from now on, or what has outlived its retention in the archive would be forgotten at once.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     for each watch: id, source, state (see WatchRecord), lane, beginning and deadline ms, run,
--          seq, why it is closed, what is remembered of its payment or '', order that is paid or '', seq of the
--          last event that is not there, notify (URLs by newline) and metadata, which may be short (see ShortText),
--          last error or '', entries in the index (searching.lua), how many values its options have, how many entries
--          its log has, the options (each field, then its value; WatchOption), and the log
-- RETURNS  for each 1, or 0 where there is one already
-- ERRORS   IDCLASH: another source has this id; nothing of the batch is written then
-- USES     texts, created, searching, folding
-- COST     a read for what is there; else seven writes and two reads, one an entry in the index and one for the log
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
  if log == 1 and byte(entry) == PACKED.folded then
    keep_folded(id, entry)
  elseif log > 0 then
    call('RPUSH', key(KEY.log, id), unpack(ARGV, log_at, log_at + log - 1))
  end
  local values = { ITEM.source, source, ITEM.lane, lane, ITEM.began, began, ITEM.deadline, deadline,
    ITEM.run, run, ITEM.seq, seq, ITEM.closed, closed, ITEM.state, state }
  local long = {}
  for n = first + VALUES, log_at - 1, 2 do add(values, ARGV[n], ARGV[n + 1]) end
  place(notify, values, ITEM.notify, long, LONG.notify)
  place(metadata, values, ITEM.metadata, long, LONG.metadata)
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
-- What was there may have left nothing to write: here is something that replicas can be waited for with.
call('HSET', KEYS[1], META.joined, int(wall))
return replies
