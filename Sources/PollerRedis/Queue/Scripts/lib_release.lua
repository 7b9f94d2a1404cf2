-- Preface of the scripts that release items without a result: release.lua and recall.lua.

-- Ends a lease as if it had never existed: the item keeps its due time, or is due now after a hint.
local function release_lease(id, token, marks, schedule, due, lane, now)
  local isHinted = is_hinted(marks)
  if isHinted then due = min(now, number(due)) end
  call('HSET', key(KEY.item, id), ITEM.token, token)
  call('HDEL', key(KEY.leases), id)
  call('ZREM', key(KEY.leaseEnds), id)
  add_to_schedule(lane, isHinted and URGENT or schedule, { due, id })
  release_slots(lane, 1)
end
