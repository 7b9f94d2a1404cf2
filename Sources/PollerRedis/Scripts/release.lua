#!lua flags=allow-oom
-- Gives items back untouched, due when they were due before.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     owner, then for each lease two values: id, token
-- RETURNS  for each lease 1 (given back, now or before) or 0 (LEASELOST: nothing written)
-- COST     two reads and two writes an item
local owner, now = ARGV[1], clocks()
local before = head_of_partition()
local results, done = {}, {}
for at = 2, #ARGV, 2 do
  local id, result = ARGV[at], 0
  local lease = call('HGET', key(KEY.leases), id)
  if lease then
    local token, holder, marks, wheel, due, lane = unpack_lease(lease)
    if token == ARGV[at + 1] and holder == owner then
      local isHinted = sub(marks, 1, 1) == MARK.hinted
      if isHinted then due = min(now, number(due)) end
      call('HSET', key(KEY.item, id), ITEM.token, token)
      call('HDEL', key(KEY.leases), id)
      add_to_wheel(lane, isHinted and URGENT or wheel, { due, id })
      give_back(lane, 1)
      done[#done + 1] = id
      result = 1
    end
  elseif call('HGET', key(KEY.item, id), ITEM.token) == ARGV[at + 1] then
    result = 1
  end
  results[#results + 1] = result
end
if #done > 0 then call('ZREM', key(KEY.leaseEnds), unpack(done)) end
save_lanes(now)
wake_if_earlier(before)
return results
