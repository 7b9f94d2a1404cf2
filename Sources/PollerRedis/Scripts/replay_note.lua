#!lua
-- Notes how the last replay of an endpoint stands.
--
-- A script, because nothing may be written to a partition while it is being split: what has moved is not looked
-- for there any more.
--
-- KEYS[1]  meta key of the partition
-- ARGV     lane, how it stands (JSON), for how many seconds
-- RETURNS  1
-- COST     one write
call('SET', key(KEY.replay, ARGV[1]), ARGV[2], 'EX', ARGV[3])
return 1
