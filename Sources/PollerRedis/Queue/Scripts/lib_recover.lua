-- Preface of the scripts that claim items: the recovery of items whose worker was killed or lost its connection.
--
-- Each claim first recovers the expired leases of its partition, so nothing else has to notice that a worker is gone. An
-- expired lease counts as a crash of its item, until a worker commits it.
--
-- The decisions: 0002-leases, 0004-poison-items.

-- Workers close a poison item after five crashes. With more crashes, no worker could close it.
local CRASHES_MAX = 6

-- Returns the end of the lease that expires first, or nil.
local function first_lease_end()
  return number(call('ZRANGE', key(KEY.leaseEnds), '0', '0', 'WITHSCORES')[2] or '')
end

-- Returns the known values of a lease with a lost or damaged text, in the order of unpack_lease; nothing for an item
-- that is closed, gone, or in a schedule. The token of such a lease was one above that of its item.
local function lost_lease(id, now)
  local w = call('HMGET', key(KEY.item, id), ITEM.source, ITEM.closed, ITEM.lane, ITEM.token)
  local lane = w[3]
  if not w[1] or w[2] or not lane or call('ZSCORE', key(URGENT, lane), id) or call('ZSCORE', key(NORMAL, lane), id) then
    return
  end
  return bounded(w[4], 0) + 1, '', '---', URGENT, now, lane
end

-- Recovers expired leases: puts their items back into their schedules and releases their slots. The new token rejects
-- any commit that the old owners still send.
--
-- Returns the number of leases, and the end of the first one that is left, or nil.
local function recover(now)
  local first = first_lease_end()
  if not first or first > now then return 0, first end
  local expired = call('ZRANGE', key(KEY.leaseEnds), '-inf', text(now), 'BYSCORE', 'LIMIT', '0', '128')
  local leases = call('HMGET', key(KEY.leases), unpack(expired))
  for at, id in ipairs(expired) do
    local token, _, marks, schedule, due, lane = unpack_lease(leases[at] or '')
    if not READY[schedule] then token, _, marks, schedule, due, lane = lost_lease(id, now) end
    if lane then
      release_slots(lane, 1)
      -- A lease can outlive its item. Then only the slot is released.
      if call('HEXISTS', key(KEY.item, id), ITEM.source) == 1 then
        due = bounded(due, now)
        local crashes = bounded(call('HGET', key(KEY.item, id), ITEM.crashes), 0) + 1
        call('HSET', key(KEY.item, id), ITEM.token, int(bounded(token, 0) + 1), ITEM.crashes, int(crashes))
        local isHinted = is_hinted(marks)
        if isHinted then due = min(now, due) end
        -- No worker could close the item, possibly because it is a record of another release. It must not block the
        -- other items forever.
        if crashes > CRASHES_MAX then due = now + 60000 end
        add_to_schedule(lane, isHinted and URGENT or schedule, { due, id })
      end
    end
  end
  call('ZREM', key(KEY.leaseEnds), unpack(expired))
  call('HDEL', key(KEY.leases), unpack(expired))
  return #expired, first_lease_end()
end

