#!lua
-- Writes items or lanes that were read from another partition, over the remains of an earlier attempt.
--
-- Only a partition that is being filled accepts them, and only from the process that began last: a late process would
-- restore values that have changed since.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the process that splits it; then for each: name, its lane or '', entries in the index, how many keys, how
--          many lists; then of each key three values and of each list two, as split_read.lua returns them
-- RETURNS  how many; -1 if another process fills the partition, or none does
-- USES     lib_created_index, lib_search_index
-- COST     one write per key, list and entry, and ten commands for an item's index entry by creation
local m = call('HMGET', M, META.splitting, META.splitter)
if m[1] ~= STAGE.filling or m[2] ~= ARGV[1] then return -1 end
local at, count = 2, 0
while at <= #ARGV do
  local name, lane, terms, keys, lists = ARGV[at], ARGV[at + 1], ARGV[at + 2], number(ARGV[at + 3]), number(ARGV[at + 4])
  at = at + 5
  local isListed = true
  remove_created_item(name)
  for _ = 1, keys do
    call('RESTORE', key(ARGV[at], name), ARGV[at + 1], ARGV[at + 2], 'REPLACE')
    at = at + 3
  end
  for _ = 1, lists do
    local list = ARGV[at]
    if list == KEY.orders then isListed = false end
    if list == KEY.lanesWithSettings then
      call('SADD', key(list), name)
    else
      local is_schedule = list == NORMAL or list == URGENT
      call('ZADD', key(list, is_schedule and lane or nil), ARGV[at + 1], name)
      -- So that the item is found even if its lane was never copied.
      if is_schedule then call('ZADD', key(KEY.occupiedLanes), '0', lane) end
    end
    at = at + 2
  end
  write_entries(name, terms)
  if keys > 0 and isListed then move_created_item(name, call('HEXISTS', key(KEY.item, name), ITEM.closed) == 1) end
  count = count + 1
end
return count
