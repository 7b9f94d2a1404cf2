#!lua flags=no-writes
-- Pages through the ids of the items that are under an entry of the index.
--
-- KEYS[1]  meta key of the partition
-- ARGV     entry, place ('0' at the start), about how many to look at, accounts, each between spaces, or
--          '' for all: what is of others is left out here, so that no answer takes longer for it
-- RETURNS  {place of the rest, or '0' when there is none, id, id, …}; none of a partition that is being filled
-- COST     O(size of the bucket), which is a handful, or O(how many) where one entry has many items; with
--          accounts one read for each that is found
if stage == STAGE.filling then return { '0' } end
local term, place, accounts = ARGV[1], ARGV[2], ARGV[4]
local found = call('HSCAN', key(KEY.searchBucket, sub(term, 1, SEARCH.bucket)), place,
  'MATCH', sub(term, SEARCH.bucket + 1) .. '*', 'COUNT', ARGV[3])
local reply = { found[1] }
for at = 1, #found[2], 2 do
  local id = sub(found[2][at], SEARCH.term - SEARCH.bucket + 1)
  if is_of(accounts, id) then reply[#reply + 1] = id end
end
return reply
