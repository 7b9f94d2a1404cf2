#!lua flags=allow-oom
-- Notes why a recipient is sent no mail, what is shown of that, or that the list has them; also in a store that is full, where nobody may be
-- mailed against their will.
--
-- KEYS[1]  the recipient's entry, or its note; or the list
-- ARGV     the reason, or what is shown; or the entry's id, and its time in ms
-- RETURNS  1
-- COST     one write
if ARGV[2] then
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
else
  redis.call('SET', KEYS[1], ARGV[1])
end
return 1
