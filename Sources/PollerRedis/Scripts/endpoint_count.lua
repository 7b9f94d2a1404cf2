#!lua flags=no-writes
-- Tells how many registered endpoints some accounts have.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     accounts
-- RETURNS  for each how many
-- COST     one read
local counts = call('HMGET', key(KEY.endpointCounts), unpack(ARGV))
for at = 1, #ARGV do counts[at] = number(counts[at] or 0) end
return counts
