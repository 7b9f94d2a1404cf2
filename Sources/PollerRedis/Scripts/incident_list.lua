#!lua flags=no-writes
-- Reads what operators are told of.
--
-- KEYS[1]  meta key of the incidents' partition
-- ARGV     most incidents that are over
-- RETURNS  {the board or '', incident, incident, …}: those that are over as JSON, the newest first
-- COST     two reads
local past = call('LRANGE', key(KEY.incidentsPast), '0', number(ARGV[1]) - 1)
return { call('HGET', key(KEY.incidents), INCIDENT.board) or '', unpack(past) }
