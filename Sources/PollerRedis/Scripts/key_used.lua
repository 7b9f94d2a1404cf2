#!lua
-- Notes when keys of the API were used; what is no key any more is passed over.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     id, ms, id, ms, …
-- RETURNS  1
-- COST     a read and a write for each
for at = 1, #ARGV, 2 do
  if call('HEXISTS', key(KEY.accessKeys), ARGV[at]) == 1 then
    call('HSET', key(KEY.accessKeysUsed), ARGV[at], ARGV[at + 1])
  end
end
return 1
