#!lua flags=allow-oom
-- Sets marks of an account that end by themselves; also in a store that is full, where hints go on.
--
-- KEYS[1]  the first of the marks, and the others after it
-- ARGV     for each how long it holds, ms
-- RETURNS  how many
-- COST     one write a mark
for at, mark in ipairs(KEYS) do redis.call('SET', mark, '', 'PX', ARGV[at]) end
return #KEYS
