#!lua flags=allow-oom
-- Returns the stage of a partition's split, and advances it (RedisRepartition.swift).
--
-- A split goes back only to its start, and not once anything has left the partition. A process that begins a split
-- takes it over from the previous one, whose calls are rejected from then on.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the stage to reach: c closing, f frozen, m copied, o open; n filling, of a new part; b as it was before; ''
--          to read only. Then the number of partitions for the store's lanes from then on, and the process that splits
--          it; b and n take it over
-- RETURNS  {stage or '', number of partitions for the lanes or '', leases, the process that splits it or ''}: a
--          partition with leases is not frozen
-- COST     three reads and a write
local ORDER = { [STAGE.closing] = 1, [STAGE.frozen] = 2, [STAGE.copied] = 3, [STAGE.filling] = 4 }
local target, leases = ARGV[1], call('HLEN', key(KEY.leases))
local m = call('HMGET', M, META.splitting, META.split, META.splitter)
local is_start = target == STAGE.before or target == STAGE.filling
if target == STAGE.open then
  call('HSET', M, META.split, ARGV[2])
  call('HDEL', M, META.splitting, META.splitter)
  call('PUBLISH', N .. CHANNEL.wake, match(P, '%d+'))
elseif is_start and m[2] ~= ARGV[2] and m[1] ~= STAGE.copied then
  call('HSET', M, META.splitter, ARGV[3])
  if target == STAGE.filling then
    call('HSET', M, META.splitting, target)
  elseif m[1] then
    call('HDEL', M, META.splitting)
    call('PUBLISH', N .. CHANNEL.wake, match(P, '%d+'))
  end
elseif target ~= '' and not is_start and m[2] ~= ARGV[2] and m[3] == ARGV[3]
  and (ORDER[m[1]] or 0) < ORDER[target] and (target == STAGE.closing or leases == 0)
  -- A failover may have lost the frozen stage: the copied data have changed since.
  and (target ~= STAGE.copied or m[1] == STAGE.frozen) then
  call('HSET', M, META.splitting, target)
end
m = call('HMGET', M, META.splitting, META.split, META.splitter)
-- This write lets the caller wait for replicas.
call('HSET', M, META.joined, m[1] or '')
return { m[1] or '', m[2] or '', leases, m[3] or '' }
