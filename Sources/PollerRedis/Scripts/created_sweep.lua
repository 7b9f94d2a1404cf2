#!lua flags=allow-oom
-- Takes entries out of the index by creation whose item is gone, or is in it elsewhere: what releases before this one
-- have left there, which forget and reopen items without it.
--
-- KEYS[1]  meta key of the partition
-- ARGV     kind (T open, V closed), the leaf to begin with or '', most entries
-- RETURNS  {the leaf to continue with or '', entries looked at, entries taken out}
-- USES     created
-- COST     a read an entry, leaf by leaf, and two writes for each that is taken out
local kind, most, looked, dropped = ARGV[1], number(ARGV[3]), 0, 0
local leaf = call('ZRANGEBYLEX', key(kind), ARGV[2] == '' and '-' or '[' .. ARGV[2], '+', 'LIMIT', '0', '1')[1]
while leaf and looked < most do
  for _, entry in ipairs(call('ZRANGE', key(kind, leaf), '0', '-1')) do
    local id = sub(entry, 16)
    local w = call('HMGET', key(KEY.item, id), ITEM.lane, ITEM.began, ITEM.closed)
    looked = looked + 1
    if not w[1] or (w[3] and KEY.closedCreated or KEY.openCreated) ~= kind
      or created_entry(id, w[1], w[2]) ~= entry then
      drop_created(kind, entry)
      dropped = dropped + 1
    end
  end
  leaf = call('ZRANGEBYLEX', key(kind), '(' .. leaf, '+', 'LIMIT', '0', '1')[1]
end
return { leaf or '', looked, dropped }
