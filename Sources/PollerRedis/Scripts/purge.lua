#!lua flags=allow-oom
-- Forgets items that were closed long ago, with their long values and their log.
--
-- KEYS[1]  meta key of the partition
-- ARGV     retention ms, most items
-- RETURNS  how many were forgotten
-- COST     one variadic UNLINK of three keys an item
local oldest = older_than(tonumber(ARGV[1]))
local ids = call('ZRANGE', key(KEY.closed), '-inf', int(oldest), 'BYSCORE', 'LIMIT', 0, tonumber(ARGV[2]))
if #ids == 0 then return 0 end
local keys = {}
for _, id in ipairs(ids) do
  keys[#keys + 1] = key(KEY.item, id)
  keys[#keys + 1] = key(KEY.long, id)
  keys[#keys + 1] = key(KEY.log, id)
end
call('UNLINK', unpack(keys))
call('ZREM', key(KEY.closed), unpack(ids))
call('ZREM', key(KEY.quarantine), unpack(ids))
call('ZREM', key(KEY.orders), unpack(ids))
return #ids
