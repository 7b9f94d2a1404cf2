#!lua flags=no-writes
-- Reads a ring of the history, old steps that nobody has written over included.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     step s of the ring
-- RETURNS  {now ms, step, step, …}, each its number since 1970 and what was done, with blanks between
-- COST     O(fields of the ring), some 2,000
local reply = call('HVALS', key(KEY.activity, ARGV[1]))
table.insert(reply, 1, int(clock()))
return reply
