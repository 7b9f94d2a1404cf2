#!lua flags=no-writes
-- The closed items of the partition, those closed last first.
--
-- KEYS[1]  meta key of the partition
-- ARGV     most items, score and id of the last item that was seen ('' and '' at the start)
-- RETURNS  {id, score, id, score, …}
-- COST     O(log n + items)
local most, score, last = number(ARGV[1]), ARGV[2], ARGV[3]
local set, found = key(KEY.closed), {}
local start = 0
if last ~= '' then start = call('ZCOUNT', set, '(' .. score, '+inf') end

-- Byte by byte, as a sorted set orders its members: Lua's own `<` follows the server's locale.
local function before(a, b)
  for at = 1, min(#a, #b) do
    local x, y = byte(a, at), byte(b, at)
    if x ~= y then return x < y end
  end
  return #a < #b
end

while true do
  local part = call('ZREVRANGE', set, int(start), int(start + most - 1), 'WITHSCORES')
  for at = 1, #part, 2 do
    local isSeen = last ~= '' and number(part[at + 1]) == number(score) and not before(part[at], last)
    if not isSeen then
      if #found >= most * 2 then return found end
      found[#found + 1] = part[at]
      found[#found + 1] = part[at + 1]
    end
  end
  if #part < most * 2 or #found >= most * 2 then return found end
  start = start + most
end
