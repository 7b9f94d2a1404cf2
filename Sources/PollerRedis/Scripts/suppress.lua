#!lua flags=allow-oom
-- Notes why a recipient is sent no mail; also in a store that is full, where nobody may be mailed
-- against their will.
--
-- KEYS[1]  the recipient's entry
-- ARGV     the reason
-- RETURNS  1
-- COST     one write
redis.call('SET', KEYS[1], ARGV[1])
return 1
