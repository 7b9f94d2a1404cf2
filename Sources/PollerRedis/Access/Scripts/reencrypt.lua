#!lua
-- Replaces values with their newly encrypted form, unless they have changed meanwhile.
--
-- KEYS[1]  a hash
-- ARGV     for each value three: field, the old value, the new value
-- RETURNS  how many were replaced
-- COST     one read and one write per value
local replaced = 0
for at = 1, #ARGV, 3 do
  if redis.call('HGET', KEYS[1], ARGV[at]) == ARGV[at + 1] then
    redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 2])
    replaced = replaced + 1
  end
end
return replaced
