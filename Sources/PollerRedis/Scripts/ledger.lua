#!lua flags=allow-oom
-- Tells since when the partition's marks are known to be whole, and notes it when asked to.
--
-- A server names the history it writes by its replication id: another one begins when a replica
-- takes over and when the server starts again, and may lack the last writes of the one before.
--
-- While a partition is being split nothing is noted: what was made again may have been for where its lanes were.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the history that a note is about, and its instant in ms; '' and '' to read only
-- RETURNS  {history, history of the last note or '', its instant ms}
-- COST     one INFO of a section, a read and a write
local history = string.match(call('INFO', 'replication'), 'master_replid:(%x+)') or ''
if history ~= '' and ARGV[1] == history and not call('HGET', KEYS[1], META.splitting) then
  call('HSET', KEYS[1], META.history, history, META.whole, ARGV[2])
end
local noted = call('HMGET', KEYS[1], META.history, META.whole)
return { history, noted[1] or '', noted[2] or '0' }
