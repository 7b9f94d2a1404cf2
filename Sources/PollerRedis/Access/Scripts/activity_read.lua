#!lua flags=no-writes
-- Reads a ring of the activity history, including old steps that have not been overwritten.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     step s of the ring
-- RETURNS  {now ms, step, step, …}; a step is its number since 1970 and its counts, separated by spaces
-- COST     O(fields of the ring), about 2,000
local reply = call('HVALS', key(KEY.activity, ARGV[1]))
table.insert(reply, 1, int(clock()))
return reply
