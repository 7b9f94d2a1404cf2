-- Preface of the scripts that release items without a result: release.lua and recall.lua.

-- Ends a lease as if it had never existed: the item keeps its due time, or is due now after a hint.
local function let_go(id, token, marks, wheel, due, lane, now)
  local isHinted = sub(marks, 1, 1) == MARK.hinted
  if isHinted then due = min(now, number(due)) end
  call('HSET', key(KEY.item, id), ITEM.token, token)
  call('HDEL', key(KEY.leases), id)
  call('ZREM', key(KEY.leaseEnds), id)
  add_to_wheel(lane, isHinted and URGENT or wheel, { due, id })
  give_back(lane, 1)
end
