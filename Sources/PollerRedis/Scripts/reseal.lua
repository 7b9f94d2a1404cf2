#!lua
-- Puts values that were sealed anew in the place of those they were made from, where nobody has changed
-- these meanwhile.
--
-- KEYS[1]  a hash
-- ARGV     for each value three: field, the value before, the value now
-- RETURNS  how many were replaced
-- COST     one read and one write a value
local replaced = 0
for at = 1, #ARGV, 3 do
  if redis.call('HGET', KEYS[1], ARGV[at]) == ARGV[at + 1] then
    redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 2])
    replaced = replaced + 1
  end
end
return replaced
