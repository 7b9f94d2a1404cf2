#!lua flags=allow-oom
-- Changes the stored state of deliveries, and makes them due now or leaves their due time, unless they are leased or
-- have changed meanwhile.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     the change of their schedule (RevisionCode in ScriptCodes.swift); then for each three values: id, state
--          (packed) as it was read, new state
-- RETURNS  for each 1 (changed), 0 (BUSY: nothing written) or -1 (there is none)
-- USES     lib_created_index
-- COST     four reads and about four writes per item, and seven commands for one that is reopened
local now = clocks()
local before = head_of_partition()
local results = {}
for at = 2, #ARGV, 3 do
  local id = ARGV[at]
  local w = call('HMGET', key(KEY.item, id), ITEM.lane, ITEM.state, ITEM.closed)
  local result = 0
  if not w[1] then
    result = -1
  elseif call('HEXISTS', key(KEY.leases), id) == 0 and (w[2] or DELIVERY.fresh) == ARGV[at + 1] then
    call('HSET', key(KEY.item, id), ITEM.state, ARGV[at + 2])
    if ARGV[1] == REVISION.dismiss then
      if w[3] == CLOSED.dead then
        call('HSET', key(KEY.item, id), ITEM.closed, CLOSED.settled)
        call('ZREM', key(KEY.quarantine), id)
      end
    elseif w[3] then
      call('HDEL', key(KEY.item, id), ITEM.closed)
      call('ZREM', key(KEY.closed), id)
      move_created_item(id, false)
      call('ZREM', key(KEY.quarantine), id)
    end
    if ARGV[1] ~= REVISION.dismiss then make_due(id, w[1], now) end
    if ARGV[1] == REVISION.retryEndingHold then
      set(lane_of(w[1]), LANE.heldUntil, nil)
      rescore(lane_of(w[1]))
    end
    result = 1
  end
  results[#results + 1] = result
end
save_lanes(now)
wake_if_earlier(before)
return results
