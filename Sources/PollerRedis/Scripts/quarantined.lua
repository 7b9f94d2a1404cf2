#!lua flags=no-writes
-- Lists the items of the partition that are in quarantine, the most recent first.
--
-- KEYS[1]  meta key of the partition
-- ARGV     most items, score and id of the last item of the previous page ('' and '' at the start), most to check,
--          accounts, each between spaces, or '' for all; items of other accounts are left out
-- RETURNS  {score, id, id, score, id, score, …}: first the last one checked, '' and '' when there is no more, and for a
--          partition that is being filled
-- COST     O(log n + items checked); with accounts one read for each
if stage == STAGE.filling then return { '', '' } end
local most, score, last = number(ARGV[1]), ARGV[2], ARGV[3]
local looks, accounts = number(ARGV[4]), ARGV[5]
local set, reply = key(KEY.quarantine), { '', '' }
local chunk = max(most, accounts == '' and 1 or 100)
local start = 0
if last ~= '' then start = call('ZCOUNT', set, '(' .. score, '+inf') end

-- Compares byte by byte, as sorted sets do: Lua's own `<` follows the server's locale.
local function before(a, b)
  for at = 1, min(#a, #b) do
    local x, y = byte(a, at), byte(b, at)
    if x ~= y then return x < y end
  end
  return #a < #b
end

while true do
  local part = call('ZREVRANGE', set, int(start), int(start + chunk - 1), 'WITHSCORES')
  for at = 1, #part, 2 do
    local isSeen = last ~= '' and number(part[at + 1]) == number(score) and not before(part[at], last)
    if not isSeen then
      if looks <= 0 or #reply >= most * 2 + 2 then return reply end
      looks = looks - 1
      reply[1], reply[2] = part[at + 1], part[at]
      if is_of(accounts, part[at]) then
        reply[#reply + 1] = part[at]
        reply[#reply + 1] = part[at + 1]
      end
    end
  end
  if #part < chunk * 2 then
    reply[1], reply[2] = '', ''
    return reply
  end
  start = start + chunk
end
