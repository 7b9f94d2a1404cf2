#!lua flags=no-writes
-- Reads all API keys.
--
-- KEYS[1]  meta key of partition 0
-- RETURNS  {version of the last change or '0', id, value, used ms or '', …}
-- COST     one read per key, and two
local reply = { call('HGET', KEYS[1], META.keysVersion) or '0' }
local all = call('HGETALL', key(KEY.accessKeys))
for at = 1, #all, 2 do
  reply[#reply + 1] = all[at]
  reply[#reply + 1] = all[at + 1]
  reply[#reply + 1] = call('HGET', key(KEY.accessKeysUsed), all[at]) or ''
end
return reply
