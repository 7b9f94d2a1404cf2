#!lua flags=allow-oom
-- Forgets the attempts of deliveries that ended well long ago; what is kept is when which event was accepted.
--
-- Each is read once, as bodies.lua does it, and once more when it was opened and ended again.
--
-- KEYS[1]  meta key of the partition
-- ARGV     retention ms, about how many items, the most characters that are kept of one
-- RETURNS  how many items were read
-- COST     two reads an item, and two writes for each that has attempts
local since = call('HGET', KEYS[1], META.faded) or '-inf'
local oldest = int(older_than(number(ARGV[1])))
local found = call('ZRANGE', key(KEY.closed), '(' .. since, oldest, 'BYSCORE', 'LIMIT', 0, number(ARGV[2]),
  'WITHSCORES')
if #found == 0 then return 0 end
local last, most = found[#found], number(ARGV[3])
local ids = call('ZRANGE', key(KEY.closed), '(' .. since, last, 'BYSCORE')
for _, id in ipairs(ids) do
  local attempts, item = key(KEY.attempts, id), key(KEY.item, id)
  local lines = call('LRANGE', attempts, 0, -1)
  -- What was given up keeps its whole story for as long as somebody may send it again.
  if #lines > 0 and call('HGET', item, ITEM.closed) ~= CLOSED.dead then
    local kept = call('HGET', item, ITEM.accepted)
    for _, line in ipairs(lines) do
      local ms, seq = match(line, '^(%d+)|(%d+)|%d+|' .. ATTEMPT.delivered)
      if ms then
        local entry = seq .. '.' .. format('%x', floor(number(ms) / 1000))
        kept = kept and kept .. ',' .. entry or entry
      end
    end
    -- The newest that have room.
    while kept and #kept > most do kept = match(kept, '^[^,]*,(.*)$') end
    if kept then call('HSET', item, ITEM.accepted, kept) end
    call('DEL', attempts)
  end
end
call('HSET', KEYS[1], META.faded, last)
return #ids
