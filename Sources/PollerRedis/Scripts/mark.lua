#!lua flags=allow-oom
-- Marks deliveries: their watch has something the endpoint may not have been told.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     for each delivery seven values: id, source, facts (packed, see DeliveryRecord), lane,
--          inline URL or '', the seq of an event that is sent whatever the endpoint wants, or '',
--          and 1 when it is urgent
-- RETURNS  how many were not marked: somebody holds them, and they name an event
-- COST     two reads and one write for a delivery that waits already; and one write in any case,
--          which replicas can be waited for by
local now, wall = clocks()
local before = head_of_partition()
local busy = 0

-- Adds an event to those that are sent in any case, the eighth part of a delivery's state.
local function send_also(item, state, seq)
  local parts = {}
  for part in string.gmatch(state .. '|', '([^|]*)|') do parts[#parts + 1] = part end
  for at = #parts + 1, PART.again do parts[at] = '' end
  if find(',' .. parts[PART.again] .. ',', ',' .. seq .. ',', 1, true) then return end
  parts[PART.again] = parts[PART.again] == '' and seq or parts[PART.again] .. ',' .. seq
  call('HSET', item, ITEM.state, table.concat(parts, '|'))
end

for at = 1, #ARGV, 7 do
  local id, lane = ARGV[at], ARGV[at + 3]
  local item = key(KEY.item, id)
  local w = call('HMGET', item, ITEM.source, ITEM.closed, ITEM.state)
  local lease = call('HGET', key(KEY.leases), id)
  local seq = ARGV[at + 5]
  if lease and seq ~= '' then
    busy = busy + 1
  elseif lease then
    mark_lease(id, lease)
  else
    if not w[1] then
      call('HSET', item, ITEM.source, ARGV[at + 1], ITEM.facts, ARGV[at + 2], ITEM.lane, lane,
        ITEM.began, int(wall), ITEM.run, 1)
      if ARGV[at + 4] ~= '' then
        call('HSET', item, ITEM.hasLong, 1)
        call('HSET', key(KEY.long, id), LONG.private, ARGV[at + 4])
      end
    elseif w[2] then
      call('HDEL', item, ITEM.closed)
      call('ZREM', key(KEY.closed), id)
      if w[2] == CLOSED.dead then call('ZREM', key(KEY.quarantine), id) end
    end
    if seq ~= '' then send_also(item, w[3] or DELIVERY.fresh, seq) end
    -- One that waits for its next attempt is due now too: something new is a reason to try again.
    if ARGV[at + 6] == '1' then
      make_due(id, lane, now)
    elseif not call('ZSCORE', key(URGENT, lane), id) then
      call('ZADD', key(REST, lane), 'LT', int(now), id)
      lane_of(lane)
      rescored[REST][lane] = true
    end
  end
end
save_lanes(now)
call('HINCRBY', KEYS[1], META.confirmed, 1)
wake_if_earlier(before)
return busy
