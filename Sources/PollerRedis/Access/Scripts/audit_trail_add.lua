#!lua flags=allow-oom
-- Records a change in the audit trail and removes surplus and expired entries. A full store accepts this write: the
-- trail is bounded, and changes made then must be found in it.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     the change (JSON), most entries to keep, how long they are kept, ms
-- RETURNS  the entry's id, `<ms>-<n>` by the server's clock
-- COST     two commands, and the removals
local trail = key(KEY.auditTrail)
local id = call('XADD', trail, 'MAXLEN', ARGV[2], '*', AUDIT.change, ARGV[1])
call('XTRIM', trail, 'MINID', int(clock() - tonumber(ARGV[3])))
return id
