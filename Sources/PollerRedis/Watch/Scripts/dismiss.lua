#!lua flags=allow-oom
-- Removes an item from quarantine permanently: it stays closed, as an operator requested.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id
-- RETURNS  1, or 0 when it is not in quarantine
-- COST     three commands
local item = key(KEY.item, ARGV[1])
if call('HGET', item, ITEM.closed) ~= CLOSED.dead then return 0 end
call('HSET', item, ITEM.closed, CLOSED.cancelled)
call('ZREM', key(KEY.quarantine), ARGV[1])
return 1
