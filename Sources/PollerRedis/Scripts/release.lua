#!lua flags=allow-oom
-- Gives items back untouched, due when they were due before.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     owner, then for each lease two values: id, token
-- RETURNS  for each lease 1 (given back, now or before) or 0 (LEASELOST: nothing written)
-- COST     one HMGET, one HSET and one ZADD an item
local owner, now = ARGV[1], clock()
local before = head_of_partition()
local results, done, slots = {}, {}, {}
for at = 2, #ARGV, 2 do
  local id = ARGV[at]
  local w = redis.call('HMGET', key('w', id), 'g', 'o', 'l', 'd', 'k')
  local result = 0
  if w[1] == ARGV[at + 1] and w[2] == owner then
    redis.call('HSET', key('w', id), 'o', '')
    redis.call('ZADD', key('z', w[3]), w[5] and int(now) or w[4], id)
    if w[5] then redis.call('HDEL', key('w', id), 'k') end
    slots[w[3]] = (slots[w[3]] or 0) + 1
    done[#done + 1] = id
    result = 1
  elseif w[1] == ARGV[at + 1] and w[2] == '' then
    result = 1
  end
  results[#results + 1] = result
end
if #done > 0 then redis.call('ZREM', key('r'), unpack(done)) end
for lane, count in pairs(slots) do
  give_back(lane, count)
  rescore(lane)
end
wake_if_earlier(before)
return results
