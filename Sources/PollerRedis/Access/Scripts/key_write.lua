#!lua
-- Creates or revokes an API key.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     the operation, id, then
--            create: record (JSON), most keys in total; if the caller is restricted to accounts, also the most
--              keys of these accounts alone, and the accounts
--            revoke: 1 to allow revoking the last admin key of all accounts that does not expire
-- RETURNS  {word, …}: {created, now ms}, {full}, {share, the number of keys}; {revoked, value, used ms or ''},
--          {unknown}, {last}
-- COST     four writes; a revocation reads every key, as does a creation that has no room or is limited to accounts
local op, id, now = ARGV[1], ARGV[2], clock()
-- This write lets the caller wait for replicas.
call('HINCRBY', KEYS[1], META.confirmed, 1)

-- Higher than every version before and, because it is a time, higher than those lost in a failover.
local function record_change()
  local known = tonumber(call('HGET', KEYS[1], META.keysVersion) or 0)
  call('HSET', KEYS[1], META.keysVersion, int(math.max(known + 1, now * 1000)))
end

-- Returns a record; nil for one that cannot be read.
local function decode_record(text)
  local known, entry = pcall(cjson.decode, string.match(text or '', '^%d+ (.*)$'))
  return known and type(entry) == 'table' and entry or nil
end

-- Removes expired keys, to make room for a new one.
local function remove_expired()
  local all = call('HGETALL', key(KEY.accessKeys))
  for at = 1, #all, 2 do
    local entry = decode_record(all[at + 1])
    if entry and tonumber(entry.expiresMs) and tonumber(entry.expiresMs) <= now then
      call('HDEL', key(KEY.accessKeys), all[at])
      call('HDEL', key(KEY.accessKeysUsed), all[at])
    end
  end
end

-- Returns the number of keys that are restricted to some of the accounts in ARGV and to no others.
local function count_restricted()
  local allowed, count = {}, 0
  for at = 6, #ARGV do allowed[ARGV[at]] = true end
  local all = call('HGETALL', key(KEY.accessKeys))
  for at = 1, #all, 2 do
    local entry = decode_record(all[at + 1])
    local accounts = entry and entry.accounts
    local isWithin = type(accounts) == 'table'
    for _, account in ipairs(isWithin and accounts or {}) do isWithin = isWithin and allowed[account] end
    if isWithin then count = count + 1 end
  end
  return count
end

if op == 'create' then
  -- A key with this id was made by the same request, whose response was lost.
  if call('HEXISTS', key(KEY.accessKeys), id) == 0 then
    local keys_max = tonumber(ARGV[4])
    if call('HLEN', key(KEY.accessKeys)) >= keys_max then remove_expired() end
    if call('HLEN', key(KEY.accessKeys)) >= keys_max then return { 'full' } end
    local accounts_max = tonumber(ARGV[5])
    if accounts_max and count_restricted() >= accounts_max then remove_expired() end
    local restricted = accounts_max and count_restricted() or 0
    if accounts_max and restricted >= accounts_max then return { 'share', restricted } end
  end
  record_change()
  call('HSET', key(KEY.accessKeys), id, int(now) .. ' ' .. ARGV[3])
  return { 'created', int(now) }
end

local value = call('HGET', key(KEY.accessKeys), id)
if not value then return { 'unknown' } end
local function is_permanent_admin(text)
  local entry = decode_record(text)
  return entry and entry.digest and entry.role == 'admin' and not entry.accounts and not entry.expiresMs
end
if ARGV[3] ~= '1' and is_permanent_admin(value) then
  local others = 0
  local all = call('HGETALL', key(KEY.accessKeys))
  for at = 1, #all, 2 do
    if all[at] ~= id and is_permanent_admin(all[at + 1]) then others = others + 1 end
  end
  if others == 0 then return { 'last' } end
end
record_change()
local used = call('HGET', key(KEY.accessKeysUsed), id) or ''
call('HDEL', key(KEY.accessKeys), id)
call('HDEL', key(KEY.accessKeysUsed), id)
return { 'revoked', value, used }
