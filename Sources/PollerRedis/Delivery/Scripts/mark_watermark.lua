#!lua flags=allow-oom
-- Returns since when the partition's delivery marks are known to be complete, and records it on request.
--
-- A server identifies the history it writes by its replication id. Another history begins when a replica takes over or
-- when the server restarts, and may lack the last writes of the previous one.
--
-- Nothing is recorded while a partition is being split, because a mark may have been written to the former partition
-- of its lane.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the history to record, and its time in ms; '' and '' to read only
-- RETURNS  {history, last recorded history or '', its time ms}
-- COST     one INFO of a section, one read and one write
local history = string.match(call('INFO', 'replication'), 'master_replid:(%x+)') or ''
if history ~= '' and ARGV[1] == history and not call('HGET', KEYS[1], META.splitting) then
  call('HSET', KEYS[1], META.history, history, META.markedBefore, ARGV[2])
end
local recorded = call('HMGET', KEYS[1], META.history, META.markedBefore)
return { history, recorded[1] or '', recorded[2] or '0' }
