#!lua flags=allow-oom
-- Writes a value to wait for: replicas that have it have everything written before.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id of an outbox entry that was read
-- RETURNS  1, or 0 when this server has no such entry: another server replied before a failover
-- COST     one read and one write
if #call('XRANGE', key(KEY.outbox), ARGV[1], ARGV[1]) == 0 then return 0 end
call('HINCRBY', KEYS[1], META.confirmed, 1)
return 1
