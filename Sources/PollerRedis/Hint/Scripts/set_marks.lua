#!lua flags=allow-oom
-- Sets marks of an account that expire. A full store accepts this write, because hints continue there.
--
-- KEYS[1]  the first of the marks, and the others after it
-- ARGV     for each its time to live, ms
-- RETURNS  how many
-- COST     one write per mark
for at, mark in ipairs(KEYS) do redis.call('SET', mark, '', 'PX', ARGV[at]) end
return #KEYS
