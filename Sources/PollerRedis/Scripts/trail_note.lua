#!lua flags=allow-oom
-- Notes a change in the audit trail and lets go of what is too much or too old. It may be written
-- into a full store: the trail is bounded, and what was changed there must be found.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     the change (JSON), most entries to keep, how long they are kept, ms
-- RETURNS  the entry's id, `<ms>-<n>` by the server's clock
-- COST     two commands, and what goes
local trail = key(KEY.auditTrail)
local id = call('XADD', trail, 'MAXLEN', ARGV[2], '*', AUDIT.change, ARGV[1])
call('XTRIM', trail, 'MINID', int(clock() - tonumber(ARGV[3])))
return id
