#!lua flags=allow-oom
-- Marks deliveries: their watch has something the endpoint may not have been told.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     for each delivery five values: id, source, facts (packed, see DeliveryRecord), lane, URL
-- RETURNS  how many became due by this
-- COST     one read and one write for a delivery that waits already
local now = clock()
local before = head_of_partition()
local lanes, count = {}, 0
for at = 1, #ARGV, 5 do
  local id, lane = ARGV[at], ARGV[at + 3]
  local item = key('w', id)
  local w = redis.call('HMGET', item, 's', 'c', 'o')
  if not w[1] then
    redis.call('HSET', item, 's', ARGV[at + 1], 'i', ARGV[at + 2], 'l', lane, 'b', int(now),
      'n', 1, 'e', 1)
    redis.call('HSET', key('o', id), 'p', ARGV[at + 4])
  elseif w[2] then
    redis.call('HDEL', item, 'c')
    redis.call('ZREM', key('h'), id)
  elseif w[3] and w[3] ~= '' then
    redis.call('HSET', item, 'k', 1)
  end
  if not w[3] or w[3] == '' then
    -- One that waits for its next attempt is due now too: something new is a reason to try again.
    redis.call('ZADD', key('z', lane), 'LT', int(now), id)
    lanes[lane] = true
    count = count + 1
  end
end
for lane in pairs(lanes) do rescore(lane) end
wake_if_earlier(before)
return count
