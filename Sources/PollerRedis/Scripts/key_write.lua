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
local function note_change()
  local known = tonumber(call('HGET', KEYS[1], META.keysVersion) or 0)
  call('HSET', KEYS[1], META.keysVersion, int(math.max(known + 1, now * 1000)))
end

-- Returns a record; nil for one that cannot be read.
local function record(text)
  local known, read = pcall(cjson.decode, string.match(text or '', '^%d+ (.*)$'))
  return known and type(read) == 'table' and read or nil
end

-- Removes expired keys, to make room for a new one.
local function forget_ended()
  local all = call('HGETALL', key(KEY.accessKeys))
  for at = 1, #all, 2 do
    local read = record(all[at + 1])
    if read and tonumber(read.expiresMs) and tonumber(read.expiresMs) <= now then
      call('HDEL', key(KEY.accessKeys), all[at])
      call('HDEL', key(KEY.accessKeysUsed), all[at])
    end
  end
end

-- Returns the number of keys that are restricted to some of the accounts in ARGV and to no others.
local function count_of_share()
  local shared, count = {}, 0
  for at = 6, #ARGV do shared[ARGV[at]] = true end
  local all = call('HGETALL', key(KEY.accessKeys))
  for at = 1, #all, 2 do
    local read = record(all[at + 1])
    local accounts = read and read.accounts
    local isWithin = type(accounts) == 'table'
    for _, account in ipairs(isWithin and accounts or {}) do isWithin = isWithin and shared[account] end
    if isWithin then count = count + 1 end
  end
  return count
end

if op == 'create' then
  -- A key with this id was made by the same request, whose response was lost.
  if call('HEXISTS', key(KEY.accessKeys), id) == 0 then
    local most = tonumber(ARGV[4])
    if call('HLEN', key(KEY.accessKeys)) >= most then forget_ended() end
    if call('HLEN', key(KEY.accessKeys)) >= most then return { 'full' } end
    local share = tonumber(ARGV[5])
    if share and count_of_share() >= share then forget_ended() end
    local own = share and count_of_share() or 0
    if share and own >= share then return { 'share', own } end
  end
  note_change()
  call('HSET', key(KEY.accessKeys), id, int(now) .. ' ' .. ARGV[3])
  return { 'created', int(now) }
end

local value = call('HGET', key(KEY.accessKeys), id)
if not value then return { 'unknown' } end
local function is_lasting(text)
  local read = record(text)
  return read and read.digest and read.role == 'admin' and not read.accounts and not read.expiresMs
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
