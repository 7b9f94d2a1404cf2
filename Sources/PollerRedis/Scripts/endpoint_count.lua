#!lua flags=allow-oom
-- Tells how many registered endpoints some accounts have.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     accounts
-- RETURNS  for each how many
-- USES     counting
-- COST     one read; O(endpoints) once after a release that does not count has changed the registry
ensure_counts(call('HGET', key(KEY.registry), REGISTRY.version))
local counts = call('HMGET', key(KEY.endpointCounts), unpack(ARGV))
for at = 1, #ARGV do counts[at] = number(counts[at] or 0) end
return counts
