#!lua flags=allow-oom
-- Releases items without a result. They keep the due time they had before.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     owner, then for each lease two values: id, token
-- RETURNS  for each lease 1 (released, now or before) or 0 (LEASELOST: nothing written)
-- USES     lib_release
-- COST     two reads and three writes per item
local owner, now = ARGV[1], clocks()
local before = head_of_partition()
local results = {}
for at = 2, #ARGV, 2 do
  local id, result = ARGV[at], 0
  local lease = call('HGET', key(KEY.leases), id)
  if lease then
    local token, lease_owner, marks, schedule, due, lane = unpack_lease(lease)
    if token == ARGV[at + 1] and lease_owner == owner then
      release_lease(id, token, marks, schedule, due, lane, now)
      result = 1
    end
  elseif call('HGET', key(KEY.item, id), ITEM.token) == ARGV[at + 1] then
    result = 1
  end
  results[#results + 1] = result
end
save_lanes(now)
wake_if_earlier(before)
return results
