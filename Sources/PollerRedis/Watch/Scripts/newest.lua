#!lua flags=no-writes
-- Pages through the items of a partition by creation time, the newest first.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the kinds of items, joined (T open, V closed), most items of each, the entry to continue after ('' at the
--          start), the budget (a passed entry costs 1, an entry whose item is read 10), accounts, each between spaces,
--          or '' for all, the lane or '', 1 where entries have accounts (those of watches have); items of other
--          accounts are passed and never returned
-- RETURNS  for each kind {the last passed entry, or '' when there is no more, entry, entry, …}; nothing of a partition
--          that is being filled
-- USES     lib_created_index
-- COST     O(log n + entries passed); with accounts or a lane, one read per entry with a matching digest
local limit, after, accounts, lane = number(ARGV[2]), ARGV[3], ARGV[5], ARGV[6]
local isFiltered, digests, budget = lane ~= '' or accounts ~= '', nil, 0
if lane ~= '' then
  digests = { [filter_digest(match(lane, '^(.*)/') or lane)] = true }
elseif isFiltered and ARGV[7] == '1' then
  digests = {}
  for account in string.gmatch(accounts, '%S+') do digests[filter_digest(account)] = true end
end

-- Returns whether an item is requested. Items are read only if the digest in their entry matches.
local function matches(entry)
  if not isFiltered then return true end
  if digests and not digests[sub(entry, 14, 15)] then return false end
  budget = budget - 9
  local item = call('HMGET', key(KEY.item, sub(entry, 16)), ITEM.lane, ITEM.facts)
  return (lane == '' or item[1] == lane) and is_in_accounts(accounts, item[1], item[2])
end

local function page(kind)
  local reply = { '' }
  if stage == STAGE.filling then return reply end
  budget = number(ARGV[4])
  local leaf = after == '' and call('ZREVRANGE', key(kind), '0', '0')[1] or after ~= '' and leaf_of(kind, after)
  local from = after == '' and '+' or '(' .. after
  while leaf do
    local chunk = isFiltered and -1 or int(limit + 2 - #reply)
    for _, entry in ipairs(call('ZREVRANGEBYLEX', key(kind, leaf), from, '-', 'LIMIT', '0', chunk)) do
      if budget <= 0 or #reply > limit then return reply end
      budget, reply[1] = budget - 1, entry
      if matches(entry) then reply[#reply + 1] = entry end
    end
    leaf, from = call('ZREVRANGEBYLEX', key(kind), '(' .. leaf, '-', 'LIMIT', '0', '1')[1], '+'
  end
  reply[1] = ''
  return reply
end

local replies = {}
for kind in string.gmatch(ARGV[1], '.') do replies[#replies + 1] = page(kind) end
return replies
