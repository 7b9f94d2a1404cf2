#!lua flags=allow-oom
-- Ends the quarantine of an entry. An entry of the outbox is appended to it again, or dropped.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, '1' to append it again
-- RETURNS  the entry as JSON, or false when it is not set aside
-- COST     about six commands
local now = clocks()
local set_aside, fields, id = key(KEY.setAside), key(KEY.setAsideFields), ARGV[1]
local json = call('HGET', set_aside, id)
if not json then return false end
local packed = call('HGET', fields, id)
if packed and ARGV[2] == '1' then
  call('XADD', key(KEY.outbox), '*', unpack(cmsgpack.unpack(packed)))
  call('PUBLISH', N .. CHANNEL.recorded, match(P, '%d+'))
end
call('HDEL', fields, id)
call('HDEL', set_aside, id)
call('HDEL', key(KEY.suspects), id)
return json
