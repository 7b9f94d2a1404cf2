#!lua
-- Restores the lost layout of a store from the copy of a process.
--
-- KEYS[1]  the hash of the layout
-- ARGV     its fields, each followed by its value
-- RETURNS  1 when it was written, 0 when there is one
-- COST     one read and one write
if redis.call('HEXISTS', KEYS[1], 'partitions') == 1 then
  return 0
end
redis.call('HSET', KEYS[1], unpack(ARGV))
return 1
