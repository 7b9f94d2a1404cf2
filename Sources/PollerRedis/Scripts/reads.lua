#!lua flags=allow-oom
-- Adds to what was read from an account today, and sums thirty days.
--
-- KEYS[1]  the account's reads: hash of USAGE and day (days since 1970) -> how many, and USAGE.paidUntil
-- ARGV     reads, transactions, for how long it counts as paid from now on, ms; 0 when no money has arrived
-- RETURNS  {reads, transactions} of the last thirty days, today included; and 1 while it counts as paid, else 0
-- COST     at most three writes, O(63) fields
local t = redis.call('TIME')
local now, today = t[1] * 1000 + math.floor(t[2] / 1000), math.floor(t[1] / 86400)
for at, kind in ipairs({ USAGE.reads, USAGE.transactions }) do
  if tonumber(ARGV[at]) > 0 then redis.call('HINCRBY', KEYS[1], kind .. today, ARGV[at]) end
end
local span = tonumber(ARGV[3])
if span > 0 then redis.call('HSET', KEYS[1], USAGE.paidUntil, string.format('%.0f', now + span)) end
local sums = { [USAGE.reads] = 0, [USAGE.transactions] = 0 }
local paid_until = 0
local all = redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
  local kind, day = string.match(all[at], '^(%a)(%d+)$')
  if all[at] == USAGE.paidUntil then
    paid_until = tonumber(all[at + 1]) or 0
  elseif tonumber(day) > today - 30 then
    sums[kind] = sums[kind] + tonumber(all[at + 1])
  else
    redis.call('HDEL', KEYS[1], all[at])
  end
end
-- Farther ahead than any span, the clock was set back since.
local SPAN_MAX = 86400000
local is_paid = paid_until > now and paid_until <= now + SPAN_MAX
return { sums[USAGE.reads], sums[USAGE.transactions], is_paid and 1 or 0 }
