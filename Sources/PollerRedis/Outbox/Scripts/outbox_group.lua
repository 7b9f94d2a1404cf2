#!lua flags=allow-oom
-- Creates the notifiers' consumer group at the oldest entry. A full store accepts this write.
--
-- Entries acknowledged before the group was lost are marked again, which has no effect.
--
-- KEYS[1]  meta key of the partition
-- RETURNS  1, or 0 when there is one
-- COST     one write
local made = redis.pcall('XGROUP', 'CREATE', key(KEY.outbox), GROUP.notifier, '0', 'MKSTREAM')
if not made.err then return 1 end
if string.find(made.err, 'BUSYGROUP', 1, true) then return 0 end
return made
