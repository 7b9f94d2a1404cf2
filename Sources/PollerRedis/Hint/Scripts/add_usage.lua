#!lua flags=allow-oom
-- Adds to today's read count of an account, and sums thirty days.
--
-- KEYS[1]  the account's reads: hash of USAGE and day (days since 1970) -> count
-- KEYS[2]  exists while the account counts as paid
-- ARGV     reads, transactions, for how long it counts as paid from now on, ms; 0 when no money has arrived
-- RETURNS  {reads, transactions} of the last thirty days, today included; and 1 while it counts as paid, else 0
-- COST     at most three writes, O(63) fields
local t = redis.call('TIME')
local today = math.floor(t[1] / 86400)
for at, kind in ipairs({ USAGE.reads, USAGE.transactions }) do
  if tonumber(ARGV[at]) > 0 then redis.call('HINCRBY', KEYS[1], kind .. today, ARGV[at]) end
end
if tonumber(ARGV[3]) > 0 then redis.call('SET', KEYS[2], '1', 'PX', ARGV[3]) end
local sums = { [USAGE.reads] = 0, [USAGE.transactions] = 0 }
local all = redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
  local kind, day = string.match(all[at], '^(%a)(%d+)$')
  if tonumber(day) > today - 30 then
    sums[kind] = sums[kind] + tonumber(all[at + 1])
  else
    redis.call('HDEL', KEYS[1], all[at])
  end
end
return { sums[USAGE.reads], sums[USAGE.transactions], redis.call('EXISTS', KEYS[2]) }
