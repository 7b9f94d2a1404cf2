#!lua flags=no-writes
-- Returns the changes in the registry of endpoints after a version.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     version, 1 when it is that of a previous page, most endpoints to return
-- RETURNS  {1 when the reader must start over, version after this page, 1 when there is more, removed ids, id, value,
--          id, value, …}; a value is `created ms, updated ms, account, record`
-- COST     O(endpoints returned)
local since, limit = tonumber(ARGV[1]), tonumber(ARGV[3])
local known = call('HMGET', key(KEY.registry), REGISTRY.version, REGISTRY.floor)
-- A version is a time in µs, of 16 digits. If it is damaged, every call returns all endpoints, because deliveries need
-- them.
local function version_of(text)
  local version = number(text or '')
  return version and version >= 0 and version < 2^53 and version or 0
end
local version, floor = version_of(known[1]), version_of(known[2])
local reset = 0
if since > version or (since < floor and ARGV[2] ~= '1') then reset, since = 1, 0 end
local from = '(' .. int(since)
local changed = call('ZRANGEBYSCORE', key(KEY.endpointVersions), from, '+inf', 'WITHSCORES',
  'LIMIT', 0, limit)
local upper, more = version, 0
if #changed == 2 * limit then upper, more = tonumber(changed[#changed]), 1 end
local removed = call('ZRANGEBYSCORE', key(KEY.endpointsRemoved), from, int(upper))
local reply = { reset, int(upper), more, removed }
for at = 1, #changed, 2 do
  reply[#reply + 1] = changed[at]
  reply[#reply + 1] = call('HGET', key(KEY.endpoints), changed[at])
end
return reply
