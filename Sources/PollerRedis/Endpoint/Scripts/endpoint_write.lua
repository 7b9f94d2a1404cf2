#!lua
-- Creates, replaces or removes a registered endpoint.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     the operation, id, then
--            create: account, record (JSON), most endpoints in total, the request's key or '',
--                    its fingerprint, how long the request is remembered in ms, most endpoints of the
--                    account, 0 for no limit, name or ''
--            replace: record (JSON), version of the last known change, name or ''
--            remove: how many removed endpoints are remembered, version of the last known change or '' for any
-- RETURNS  {word, …}: {created, now ms}, {repeated, id, value, 1 when nothing has changed since}, {conflict}, {exists},
--          {named, id of the endpoint with the name}, {full}, {crowded}; {replaced, value}, {changed}, {named, id};
--          {removed}, {changed}, {gone}
-- COST     at most eleven writes
local op, id, now = ARGV[1], ARGV[2], clock()
-- A repeat writes nothing else. This write lets the caller wait for replicas.
call('HINCRBY', KEYS[1], META.confirmed, 1)
local value = call('HGET', key(KEY.endpoints), id)

-- Higher than every version before and, because it is a time, higher than those lost in a failover.
local known = call('HGET', key(KEY.registry), REGISTRY.version)
local version = math.max(tonumber(known or 0) + 1, now * 1000)
-- Adds `delta` to the number of endpoints of `account`.
local function record_change(account, delta)
  -- The registry is new. A reader that knows another one starts over.
  if not known then
    call('HSET', key(KEY.registry), REGISTRY.floor, int(version - 1))
    call('DEL', key(KEY.endpointCounts))
  end
  call('HSET', key(KEY.registry), REGISTRY.version, int(version))
  if delta ~= 0 and call('HINCRBY', key(KEY.endpointCounts), account, delta) <= 0 then
    call('HDEL', key(KEY.endpointCounts), account)
  end
end

-- Returns the name in a record; '' for none, and for a record that cannot be decoded.
local function name_of(json)
  local known, record = pcall(cjson.decode, json or '')
  local name = known and type(record) == 'table' and record.name
  return type(name) == 'string' and name or ''
end

-- Returns the other endpoint of the account with this name; nil when the name is free.
local function name_owner(account, name)
  local owner = name ~= '' and call('HGET', key(KEY.endpointNames), account .. ' ' .. name)
  return owner and owner ~= id and owner or nil
end

local function update_name(account, old, new)
  local names = key(KEY.endpointNames)
  if old ~= '' and old ~= new and call('HGET', names, account .. ' ' .. old) == id then
    call('HDEL', names, account .. ' ' .. old)
  end
  if new ~= '' then call('HSET', names, account .. ' ' .. new, id) end
end

if op == 'create' then
  if ARGV[6] ~= '' then
    local request = call('GET', key(KEY.endpointRequest, ARGV[6]))
    if request then
      local fingerprint, created_id, at = string.match(request, '^(%S+) (%S+) (%d+)$')
      local found = call('HGET', key(KEY.endpoints), created_id)
      if fingerprint ~= ARGV[7] or not found then return { 'conflict' } end
      local changed = tonumber(call('ZSCORE', key(KEY.endpointVersions), created_id))
      return { 'repeated', created_id, found, changed == tonumber(at) and 1 or 0 }
    end
  end
  if value then return { 'exists' } end
  local owner = name_owner(ARGV[3], ARGV[10])
  if owner then return { 'named', owner } end
  if call('HLEN', key(KEY.endpoints)) >= tonumber(ARGV[5]) then return { 'full' } end
  if ARGV[9] ~= '0' then
    local count = call('HGET', key(KEY.endpointCounts), ARGV[3]) or 0
    if tonumber(count) >= tonumber(ARGV[9]) then return { 'crowded' } end
  end
  record_change(ARGV[3], 1)
  call('HSET', key(KEY.endpoints), id, int(now) .. ' ' .. int(now) .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
  call('ZADD', key(KEY.endpointOrder), 0, string.format('%015.0f ', now) .. id)
  call('ZADD', key(KEY.endpointVersions), int(version), id)
  call('ZREM', key(KEY.endpointsRemoved), id)
  update_name(ARGV[3], '', ARGV[10])
  if ARGV[6] ~= '' then
    local request = ARGV[7] .. ' ' .. id .. ' ' .. int(version)
    call('SET', key(KEY.endpointRequest, ARGV[6]), request, 'PX', ARGV[8])
  end
  return { 'created', int(now) }
end

if not value then return { op == 'remove' and 'gone' or 'changed' } end
local created, account, json = string.match(value, '^(%d+) %d+ (%S+) (.*)$')
if op == 'replace' then
  if tonumber(call('ZSCORE', key(KEY.endpointVersions), id)) ~= tonumber(ARGV[4]) then
    return { 'changed' }
  end
  local name = ARGV[5] or ''
  local owner = name_owner(account, name)
  if owner then return { 'named', owner } end
  record_change(account, 0)
  update_name(account, name_of(json), name)
  local new = created .. ' ' .. int(now) .. ' ' .. account .. ' ' .. ARGV[3]
  call('HSET', key(KEY.endpoints), id, new)
  call('ZADD', key(KEY.endpointVersions), int(version), id)
  return { 'replaced', new }
end

if ARGV[4] ~= '' and tonumber(call('ZSCORE', key(KEY.endpointVersions), id)) ~= tonumber(ARGV[4]) then
  return { 'changed' }
end
record_change(account, -1)
update_name(account, name_of(json), '')
call('HDEL', key(KEY.endpoints), id)
call('ZREM', key(KEY.endpointOrder), string.format('%015.0f ', tonumber(created)) .. id)
call('ZREM', key(KEY.endpointVersions), id)
call('ZADD', key(KEY.endpointsRemoved), int(version), id)
local excess = call('ZCARD', key(KEY.endpointsRemoved)) - tonumber(ARGV[3])
if excess > 0 then
  local forgotten = call('ZRANGE', key(KEY.endpointsRemoved), excess - 1, excess - 1, 'WITHSCORES')[2]
  call('ZREMRANGEBYRANK', key(KEY.endpointsRemoved), 0, excess - 1)
  call('HSET', key(KEY.registry), REGISTRY.floor, int(tonumber(forgotten)))
end
return { 'removed' }
