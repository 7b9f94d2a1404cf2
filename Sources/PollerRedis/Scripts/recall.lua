#!lua flags=allow-oom
-- Gives back untouched what claims took whose answers got lost.
--
-- Their owner has heard the answers of all claims before `since`, the last of which leases until `since`
-- and a span of a lease: what it holds for longer is what nobody knows of. A claim of the same
-- millisecond stays; its leases end by themselves.
--
-- KEYS[1]  meta key of the partition
-- ARGV     owner, lease ms, since (ms of the wall clock, or '': all that the owner holds)
-- RETURNS  how many items
-- USES     releasing
-- COST     reads the leases that were made since, anybody's: few, as it is asked for after an outage
local owner, now, _, back = ARGV[1], clocks()
local since = number(ARGV[3])
local after = since and '(' .. int(since + back + number(ARGV[2])) or '-inf'
local before = head_of_partition()
local ids = call('ZRANGE', key(KEY.leaseEnds), after, '+inf', 'BYSCORE')
local count = 0
for _, id in ipairs(ids) do
  local lease = call('HGET', key(KEY.leases), id)
  if lease then
    local token, holder, marks, wheel, due, lane = unpack_lease(lease)
    if holder == owner then
      let_go(id, token, marks, wheel, due, lane, now)
      count = count + 1
    end
  end
end
save_lanes(now)
wake_if_earlier(before)
return count
