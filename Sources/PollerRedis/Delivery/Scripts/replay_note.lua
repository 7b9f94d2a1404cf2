#!lua
-- Stores the progress of an endpoint's last replay.
--
-- This is a script because nothing may be written to a partition while it is being split: a value that has moved is no
-- longer looked up there.
--
-- KEYS[1]  meta key of the partition
-- ARGV     lane, progress (JSON), time to live in seconds
-- RETURNS  1
-- COST     one write
call('SET', key(KEY.replay, ARGV[1]), ARGV[2], 'EX', ARGV[3])
return 1
