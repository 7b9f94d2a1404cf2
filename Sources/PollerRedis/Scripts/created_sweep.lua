#!lua flags=allow-oom
-- Cleans two indexes of entries that earlier releases left, which delete and reopen items without these indexes.
-- By creation: entries of deleted items, and of items that have another entry. By words: entries of deleted items,
-- and of items without the word.
--
-- KEYS[1]  meta key of the partition
-- ARGV     kind (T open, V closed, or that of words), the leaf to begin with or '', most entries
-- RETURNS  {the leaf to continue with or '', entries looked at, entries taken out}
-- USES     created
-- COST     a read an entry, leaf by leaf, and two writes for each that is taken out
local kind, most, looked, dropped = ARGV[1], number(ARGV[3]), 0, 0

local function is_word(entry)
  local word, id = match(entry, '^([^ ]*) ([^ ]*)$')
  if not id then return false end
  local w = call('HMGET', key(KEY.item, id), ITEM.words, ITEM.moreWords)
  return find(' ' .. (w[1] or '') .. ' ' .. (w[2] or '') .. ' ', ' ' .. word .. ' ', 1, true)
end

local function is_creation(entry)
  local id = sub(entry, 16)
  local w = call('HMGET', key(KEY.item, id), ITEM.lane, ITEM.began, ITEM.closed)
  return w[1] and (w[3] and KEY.closedCreated or KEY.openCreated) == kind and created_entry(id, w[1], w[2]) == entry
end

local is_right = kind == KEY.words and is_word or is_creation
local leaf = call('ZRANGEBYLEX', key(kind), ARGV[2] == '' and '-' or '[' .. ARGV[2], '+', 'LIMIT', '0', '1')[1]
while leaf and looked < most do
  for _, entry in ipairs(call('ZRANGE', key(kind, leaf), '0', '-1')) do
    looked = looked + 1
    if not is_right(entry) then
      drop_created(kind, entry)
      dropped = dropped + 1
    end
  end
  leaf = call('ZRANGEBYLEX', key(kind), '(' .. leaf, '+', 'LIMIT', '0', '1')[1]
end
return { leaf or '', looked, dropped }
