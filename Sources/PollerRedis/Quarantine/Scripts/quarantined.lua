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
local limit, score, last = number(ARGV[1]), ARGV[2], ARGV[3]
local reads_left, accounts = number(ARGV[4]), ARGV[5]
local set, reply = key(KEY.quarantine), { '', '' }
local chunk = max(limit, accounts == '' and 1 or 100)
local start = 0
if last ~= '' then start = call('ZCOUNT', set, '(' .. score, '+inf') end

-- Compares byte by byte, as sorted sets do: Lua's own `<` follows the server's locale.
local function precedes(a, b)
  for at = 1, min(#a, #b) do
    local x, y = byte(a, at), byte(b, at)
    if x ~= y then return x < y end
  end
  return #a < #b
end

while true do
  local page = call('ZREVRANGE', set, int(start), int(start + chunk - 1), 'WITHSCORES')
  for at = 1, #page, 2 do
    local isSeen = last ~= '' and number(page[at + 1]) == number(score) and not precedes(page[at], last)
    if not isSeen then
      if reads_left <= 0 or #reply >= limit * 2 + 2 then return reply end
      reads_left = reads_left - 1
      reply[1], reply[2] = page[at + 1], page[at]
      if item_is_in_accounts(accounts, page[at]) then
        reply[#reply + 1] = page[at]
        reply[#reply + 1] = page[at + 1]
      end
    end
  end
  if #page < chunk * 2 then
    reply[1], reply[2] = '', ''
    return reply
  end
  start = start + chunk
end
