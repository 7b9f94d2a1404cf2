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

-- What is kept (AcceptedLine.swift) as {{seq, s}, …}, and the newest of such that have room, as it is kept.
local function read(line)
  local entries, s = {}, 0
  for seq, mark, hex in string.gmatch(line, '(%d+)([.+])(%x+)') do
    s = mark == '+' and s + number(hex, 16) or number(hex, 16)
    entries[#entries + 1] = { seq, s }
  end
  return entries
end
local function written(entries)
  for first = 1, #entries do
    local line, before = '', 0
    for at = first, #entries do
      local seq, s = entries[at][1], entries[at][2]
      -- Where a clock was set back, the instant itself.
      local isLater = at > first and s >= before
      line = line .. (at > first and ',' or '') .. seq .. (isLater and '+' or '.')
        .. format('%x', isLater and s - before or s)
      before = s
    end
    if #line <= most then return line end
  end
end

for _, id in ipairs(ids) do
  local attempts, item = key(KEY.attempts, id), key(KEY.item, id)
  local lines = call('LRANGE', attempts, 0, -1)
  -- What was given up keeps its whole story for as long as somebody may send it again.
  if #lines > 0 and call('HGET', item, ITEM.closed) ~= CLOSED.dead then
    local entries, skipped = read(call('HGET', item, ITEM.accepted) or ''), {}
    for _, line in ipairs(lines) do
      -- Why a recipient was sent nothing is asked long after.
      if match(line, '^%d+|%d+|%d+|' .. ATTEMPT.skipped .. '|') then skipped[#skipped + 1] = line end
      local ms, seq = match(line, '^(%d+)|(%d+)|%d+|' .. ATTEMPT.delivered)
      if ms then entries[#entries + 1] = { seq, floor(number(ms) / 1000) } end
    end
    local kept = written(entries)
    if kept then call('HSET', item, ITEM.accepted, kept) end
    local left = call('PTTL', attempts)
    call('DEL', attempts)
    for _, line in ipairs(skipped) do call('RPUSH', attempts, line) end
    if #skipped > 0 and left > 0 then call('PEXPIRE', attempts, left) end
  end
end
call('HSET', KEYS[1], META.faded, last)
return #ids
