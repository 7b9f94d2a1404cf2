#!lua
-- Claims a request with an idempotency key, keeps its response, or ends the claim without one.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the operation, the request's name, the owner, then
--            claim: fingerprint, lease in ms, how long the request is remembered in ms
--            keep: response, how long it is remembered in ms
--            release: 1 to forget the request, if this was its first claim
-- RETURNS  {word, …}: {granted, seed}, {inUse, ms left of its lease}, {reused}, {kept, response}; {kept}, {lost};
--          {released}, {lost}
-- COST     two writes
local op, name, owner = ARGV[1], key(KEY.idempotentRequest, ARGV[2]), ARGV[3]
local now = clocks()
-- A repeat writes nothing else. This write lets the caller wait for replicas.
call('HINCRBY', KEYS[1], META.confirmed, 1)
local value = call('GET', name) or ''
local fingerprint, seed, claims, ends, lease_owner = string.match(value, '^c (%S+) (%S+) (%d+) (%d+) (%S+)$')

if op == 'claim' then
  local answered_fingerprint = string.match(value, '^k (%S+) ')
  if fingerprint or answered_fingerprint then
    if (fingerprint or answered_fingerprint) ~= ARGV[4] then return { 'reused' } end
    if answered_fingerprint then return { 'kept', string.sub(value, #answered_fingerprint + 4) } end
    if tonumber(ends) > now then return { 'inUse', tonumber(ends) - now } end
  end
  seed, claims = seed or owner, tonumber(claims or 0) + 1
  local claim = { 'c', ARGV[4], seed, claims, int(now + tonumber(ARGV[5])), owner }
  call('SET', name, table.concat(claim, ' '), 'PX', ARGV[6])
  return { 'granted', seed }
end

if lease_owner ~= owner then return { 'lost' } end
if op == 'keep' then
  call('SET', name, 'k ' .. fingerprint .. ' ' .. ARGV[4], 'PX', ARGV[5])
  return { 'kept' }
end
if ARGV[4] == '1' and claims == '1' then
  call('DEL', name)
else
  call('SET', name, table.concat({ 'c', fingerprint, seed, claims, 0, owner }, ' '), 'KEEPTTL')
end
return { 'released' }
