#!lua flags=allow-oom
-- Releases the items of claims whose replies were lost. No result is recorded.
--
-- The owner has received the replies of all claims before `since`, and the last of these leases end by `since` plus one
-- lease. The owner does not know of its leases that end later. A claim of the same millisecond is left; its leases
-- expire.
--
-- KEYS[1]  meta key of the partition
-- ARGV     owner, lease ms, since (ms of the wall clock, or '': all leases of the owner)
-- RETURNS  how many items
-- USES     lib_release
-- COST     reads the leases made since, of all owners: few, because it is called after an outage
local owner, now, _, back = ARGV[1], clocks()
local since = number(ARGV[3])
local after = since and '(' .. int(since + back + number(ARGV[2])) or '-inf'
local before = head_of_partition()
local ids = call('ZRANGE', key(KEY.leaseEnds), after, '+inf', 'BYSCORE')
local count = 0
for _, id in ipairs(ids) do
  local lease = call('HGET', key(KEY.leases), id)
  if lease then
    local token, lease_owner, marks, schedule, due, lane = unpack_lease(lease)
    if lease_owner == owner then
      release_lease(id, token, marks, schedule, due, lane, now)
      count = count + 1
    end
  end
end
save_lanes(now)
wake_if_earlier(before)
return count
