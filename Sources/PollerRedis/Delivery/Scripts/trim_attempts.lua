#!lua flags=allow-oom
-- Removes the attempts of deliveries that ended well long ago. Which event was accepted, and when, is kept.
--
-- Each delivery is read once, like in compact_read.lua, and once more after it was reopened and has ended again.
--
-- KEYS[1]  meta key of the partition
-- ARGV     retention ms, approximate number of items, the maximum characters kept of one item
-- RETURNS  the number of items read
-- COST     two reads per item, and two writes per item with attempts
local since = call('HGET', KEYS[1], META.reduced) or '-inf'
local oldest = int(older_than(number(ARGV[1])))
local found = call('ZRANGE', key(KEY.closed), '(' .. since, oldest, 'BYSCORE', 'LIMIT', 0, number(ARGV[2]),
  'WITHSCORES')
if #found == 0 then return 0 end
local last, length_max = found[#found], number(ARGV[3])
local ids = call('ZRANGE', key(KEY.closed), '(' .. since, last, 'BYSCORE')

-- Returns the kept entries (AcceptedLine.swift) as {{seq, s}, …}.
--
-- Returns the newest entries that fit, in the stored form.
local function parse_entries(line)
  local entries, s = {}, 0
  for seq, mark, hex in string.gmatch(line, '(%d+)([.+])(%x+)') do
    s = mark == '+' and s + number(hex, 16) or number(hex, 16)
    entries[#entries + 1] = { seq, s }
  end
  return entries
end
local function format_entries(entries)
  for first = 1, #entries do
    local line, previous = '', 0
    for at = first, #entries do
      local seq, s = entries[at][1], entries[at][2]
      -- If a clock was set back, the entry holds the time itself instead of the difference.
      local isLater = at > first and s >= previous
      line = line .. (at > first and ',' or '') .. seq .. (isLater and '+' or '.')
        .. format('%x', isLater and s - previous or s)
      previous = s
    end
    if #line <= length_max then return line end
  end
end

for _, id in ipairs(ids) do
  local attempts, item = key(KEY.attempts, id), key(KEY.item, id)
  local lines = call('LRANGE', attempts, 0, -1)
  -- A dead letter keeps all of its attempts for as long as an operator can send it again.
  if #lines > 0 and call('HGET', item, ITEM.closed) ~= CLOSED.dead then
    local entries, skipped = parse_entries(call('HGET', item, ITEM.accepted) or ''), {}
    for _, line in ipairs(lines) do
      local isReadable, attempt = pcall(cmsgpack.unpack, line)
      if isReadable and type(attempt) == 'table' then
        local outcome, seq, ms = attempt[ATTEMPT.outcome], attempt[ATTEMPT.seq], attempt[ATTEMPT.at]
        -- Skipped attempts are kept because operators ask much later why a recipient received nothing.
        if outcome == RESULT.skipped then skipped[#skipped + 1] = line end
        if outcome == RESULT.delivered and type(seq) == 'number' and type(ms) == 'number' then
          entries[#entries + 1] = { text(seq), floor(ms / 1000) }
        end
      end
    end
    local kept = format_entries(entries)
    if kept then call('HSET', item, ITEM.accepted, kept) end
    local ttl = call('PTTL', attempts)
    call('DEL', attempts)
    for _, line in ipairs(skipped) do call('RPUSH', attempts, line) end
    if #skipped > 0 and ttl > 0 then call('PEXPIRE', attempts, ttl) end
  end
end
call('HSET', KEYS[1], META.reduced, last)
return #ids
