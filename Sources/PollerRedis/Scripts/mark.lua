#!lua flags=allow-oom
-- Marks deliveries: their watch has something the endpoint may not have been told.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     for each delivery six values: id, source, facts (packed, see DeliveryRecord), lane,
--          inline URL or '', and the seq of an event that is sent whatever the endpoint wants, or ''
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
  for at = #parts + 1, 8 do parts[at] = '' end
  if string.find(',' .. parts[8] .. ',', ',' .. seq .. ',', 1, true) then return end
  parts[8] = parts[8] == '' and seq or parts[8] .. ',' .. seq
  redis.call('HSET', item, 'v', table.concat(parts, '|'))
end

for at = 1, #ARGV, 6 do
  local id, lane = ARGV[at], ARGV[at + 3]
  local item = key('w', id)
  local w = redis.call('HMGET', item, 's', 'c', 'v')
  local lease = redis.call('HGET', key('f'), id)
  local seq = ARGV[at + 5]
  if lease and seq ~= '' then
    busy = busy + 1
  elseif lease then
    mark_lease(id, lease)
  else
    if not w[1] then
      redis.call('HSET', item, 's', ARGV[at + 1], 'i', ARGV[at + 2], 'l', lane, 'b', int(wall), 'n', 1)
      if ARGV[at + 4] ~= '' then
        redis.call('HSET', item, 'e', 1)
        redis.call('HSET', key('o', id), 'p', ARGV[at + 4])
      end
    elseif w[2] then
      redis.call('HDEL', item, 'c')
      redis.call('ZREM', key('h'), id)
      if w[2] == 'dead' then redis.call('ZREM', key('x'), id) end
    end
    if seq ~= '' then send_also(item, w[3] or '0|0|0|', seq) end
    -- One that waits for its next attempt is due now too: something new is a reason to try again.
    make_due(id, lane, now)
  end
end
save_lanes(now)
redis.call('HINCRBY', KEYS[1], 'confirmed', 1)
wake_if_earlier(before)
return busy
