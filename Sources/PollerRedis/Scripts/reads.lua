#!lua flags=allow-oom
-- Adds to what was read from an account today, and sums thirty days.
--
-- KEYS[1]  the account's reads: hash of USAGE and day (days since 1970) -> how many
-- ARGV     reads, transactions
-- RETURNS  {reads, transactions} of the last thirty days, today included
-- COST     at most two writes, O(62) fields
local today = math.floor(redis.call('TIME')[1] / 86400)
for at, kind in ipairs({ USAGE.reads, USAGE.transactions }) do
  if tonumber(ARGV[at]) > 0 then redis.call('HINCRBY', KEYS[1], kind .. today, ARGV[at]) end
end
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
return { sums[USAGE.reads], sums[USAGE.transactions] }
