#!lua flags=allow-oom
-- Says how far the split of a partition is, and takes it a stage further (RedisRepartition.swift); never back.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the stage to reach: n filling, of a new part; c closing, f frozen, m copied, o open; '' to ask only. Then among how many
--          partitions the store's lanes are from then on
-- RETURNS  {stage or '', among how many lanes are or '', leases}: a partition that holds leases is not frozen
-- COST     three reads and a write
local ORDER = { [STAGE.closing] = 1, [STAGE.frozen] = 2, [STAGE.copied] = 3, [STAGE.filling] = 4 }
local wanted, leases = ARGV[1], call('HLEN', key(KEY.leases))
local m = call('HMGET', M, META.splitting, META.split)
if wanted == STAGE.open then
  call('HSET', M, META.split, ARGV[2])
  call('HDEL', M, META.splitting)
  call('PUBLISH', N .. CHANNEL.wake, match(P, '%d+'))
elseif wanted ~= '' and m[2] ~= ARGV[2] and (ORDER[m[1]] or 0) < ORDER[wanted]
  and (wanted == STAGE.closing or leases == 0) then
  call('HSET', M, META.splitting, wanted)
end
m = call('HMGET', M, META.splitting, META.split)
-- Something that replicas can be waited for with.
call('HSET', M, META.joined, m[1] or '')
return { m[1] or '', m[2] or '', leases }
