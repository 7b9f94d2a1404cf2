#!lua
-- Adds or takes away a key of the API.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     what to do, id, then
--            create: record (JSON), most keys there may be
--            revoke: 1 when it may be the last lasting one of an admin
-- RETURNS  {word, …}: {created, now ms}, {full}; {revoked, value, used ms or ''}, {unknown}, {last}
-- COST     four writes; a revocation reads every key
local op, id, now = ARGV[1], ARGV[2], clock()
-- Here is something that replicas can be waited for with.
call('HINCRBY', KEYS[1], META.confirmed, 1)

-- Above every version before and, because it is a time, above those a failover has lost.
local function note_change()
  local known = tonumber(call('HGET', KEYS[1], META.keysVersion) or 0)
  call('HSET', KEYS[1], META.keysVersion, int(math.max(known + 1, now * 1000)))
end

if op == 'create' then
  if call('HLEN', key(KEY.accessKeys)) >= tonumber(ARGV[4]) then return { 'full' } end
  note_change()
  call('HSET', key(KEY.accessKeys), id, int(now) .. ' ' .. ARGV[3])
  return { 'created', int(now) }
end

local value = call('HGET', key(KEY.accessKeys), id)
if not value then return { 'unknown' } end
local function is_lasting(text)
  local record = cjson.decode(string.match(text, '^%d+ (.*)$'))
  return record.role == 'admin' and not record.accounts and not record.expiresMs
end
if ARGV[3] ~= '1' and is_lasting(value) then
  local others = 0
  local all = call('HGETALL', key(KEY.accessKeys))
  for at = 1, #all, 2 do
    if all[at] ~= id and is_lasting(all[at + 1]) then others = others + 1 end
  end
  if others == 0 then return { 'last' } end
end
note_change()
local used = call('HGET', key(KEY.accessKeysUsed), id) or ''
call('HDEL', key(KEY.accessKeys), id)
call('HDEL', key(KEY.accessKeysUsed), id)
return { 'revoked', value, used }
