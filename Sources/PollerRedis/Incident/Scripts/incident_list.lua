#!lua flags=no-writes
-- Reads the incidents.
--
-- KEYS[1]  meta key of the incidents' partition
-- ARGV     most incidents that have ended
-- RETURNS  {the board or '', incident, incident, …}: ended incidents as JSON, the newest first
-- COST     two reads
local past = call('LRANGE', key(KEY.incidentsPast), '0', number(ARGV[1]) - 1)
return { call('HGET', key(KEY.incidents), INCIDENT.board) or '', unpack(past) }
