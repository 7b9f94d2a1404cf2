#!lua flags=allow-oom
-- Says how far the split of a partition is, and takes it a stage further (RedisRepartition.swift).
--
-- It never goes back but to where it was before, and not once anything has left the partition. Whoever begins takes
-- it over from the one before, who is refused from then on.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the stage to reach: c closing, f frozen, m copied, o open; n filling, of a new part; b as it was
--          before; '' to ask only. Then among how many partitions the store's lanes are from then on, and who
--          splits it; b and n take it over
-- RETURNS  {stage or '', among how many lanes are or '', leases, who splits it or ''}: a partition that holds
--          leases is not frozen
-- COST     three reads and a write
local ORDER = { [STAGE.closing] = 1, [STAGE.frozen] = 2, [STAGE.copied] = 3, [STAGE.filling] = 4 }
local wanted, leases = ARGV[1], call('HLEN', key(KEY.leases))
local m = call('HMGET', M, META.splitting, META.split, META.splitter)
local is_begun = wanted == STAGE.before or wanted == STAGE.filling
if wanted == STAGE.open then
  call('HSET', M, META.split, ARGV[2])
  call('HDEL', M, META.splitting, META.splitter)
  call('PUBLISH', N .. CHANNEL.wake, match(P, '%d+'))
elseif is_begun and m[2] ~= ARGV[2] and m[1] ~= STAGE.copied then
  call('HSET', M, META.splitter, ARGV[3])
  if wanted == STAGE.filling then
    call('HSET', M, META.splitting, wanted)
  elseif m[1] then
    call('HDEL', M, META.splitting)
    call('PUBLISH', N .. CHANNEL.wake, match(P, '%d+'))
  end
elseif wanted ~= '' and not is_begun and m[2] ~= ARGV[2] and m[3] == ARGV[3]
  and (ORDER[m[1]] or 0) < ORDER[wanted] and (wanted == STAGE.closing or leases == 0)
  -- A failover may have lost that it was frozen: what was copied has changed since.
  and (wanted ~= STAGE.copied or m[1] == STAGE.frozen) then
  call('HSET', M, META.splitting, wanted)
end
m = call('HMGET', M, META.splitting, META.split, META.splitter)
-- Something that replicas can be waited for with.
call('HSET', M, META.joined, m[1] or '')
return { m[1] or '', m[2] or '', leases, m[3] or '' }
