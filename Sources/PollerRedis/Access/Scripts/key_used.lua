#!lua
-- Records when API keys were used. Ids without a key are ignored.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     id, ms, id, ms, …
-- RETURNS  1
-- COST     one read and one write per key
for at = 1, #ARGV, 2 do
  if call('HEXISTS', key(KEY.accessKeys), ARGV[at]) == 1 then
    call('HSET', key(KEY.accessKeysUsed), ARGV[at], ARGV[at + 1])
  end
end
return 1
