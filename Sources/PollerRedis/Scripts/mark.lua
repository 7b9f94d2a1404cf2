#!lua flags=allow-oom
-- Marks deliveries: their watch has something the endpoint may not have been told.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     for each delivery five values: id, source, facts (packed, see DeliveryRecord), lane, URL
-- RETURNS  how many became due by this
-- COST     two reads and one write for a delivery that waits already
local now = clock()
local before = head_of_partition()
local count = 0
for at = 1, #ARGV, 5 do
  local id, lane = ARGV[at], ARGV[at + 3]
  local item = key('w', id)
  local w = redis.call('HMGET', item, 's', 'c')
  local lease = redis.call('HGET', key('f'), id)
  if lease then
    mark_lease(id, lease)
  else
    if not w[1] then
      redis.call('HSET', item, 's', ARGV[at + 1], 'i', ARGV[at + 2], 'l', lane, 'b', int(now),
        'n', 1, 'e', 1)
      redis.call('HSET', key('o', id), 'p', ARGV[at + 4])
    elseif w[2] then
      redis.call('HDEL', item, 'c')
      redis.call('ZREM', key('h'), id)
    end
    -- One that waits for its next attempt is due now too: something new is a reason to try again.
    make_due(id, lane, now)
    count = count + 1
  end
end
save_lanes(now)
wake_if_earlier(before)
return count
