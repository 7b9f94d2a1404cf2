#!lua flags=no-writes
-- Reads one registered endpoint.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     id, accounts, each between spaces, or '' for all: endpoints of other accounts are not found
-- RETURNS  {} or {value, version of its last change, now ms}
-- COST     two reads
local value = call('HGET', key(KEY.endpoints), ARGV[1])
if not value then return {} end
if ARGV[2] ~= '' and not string.find(ARGV[2], string.match(value, '^%d+ %d+( %S+ )'), 1, true) then
  return {}
end
return { value, int(tonumber(call('ZSCORE', key(KEY.endpointVersions), ARGV[1]))), int(clock()) }
