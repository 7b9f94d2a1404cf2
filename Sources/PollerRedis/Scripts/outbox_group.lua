#!lua flags=allow-oom
-- Makes the notifiers' consumer group, from the oldest entry on; also in a store that is full.
--
-- What was acknowledged before the group got lost is marked again, which does nothing.
--
-- KEYS[1]  meta key of the partition
-- RETURNS  1, or 0 when there is one
-- COST     one write
local made = redis.pcall('XGROUP', 'CREATE', key(KEY.outbox), GROUP.notifier, '0', 'MKSTREAM')
if not made.err then return 1 end
if string.find(made.err, 'BUSYGROUP', 1, true) then return 0 end
return made
