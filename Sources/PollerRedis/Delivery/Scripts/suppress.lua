#!lua flags=allow-oom
-- Writes an entry of a suppressed recipient, its note, or its position in the list. A full store accepts this write:
-- even then, a recipient must not get mail against their will.
--
-- KEYS[1]  the recipient's entry, or its note; or the list
-- ARGV     the reason, or the note; or the entry's id, and its time in ms
-- RETURNS  1
-- COST     one write
if ARGV[2] then
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
else
  redis.call('SET', KEYS[1], ARGV[1])
end
return 1
