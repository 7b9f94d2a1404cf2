#!lua flags=no-writes
-- Returns the number of registered endpoints of some accounts.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     accounts
-- RETURNS  one number per account
-- COST     one read
local counts = call('HMGET', key(KEY.endpointCounts), unpack(ARGV))
for at = 1, #ARGV do counts[at] = number(counts[at] or 0) end
return counts
