#!lua flags=allow-oom
-- Takes items or lanes out of a partition that are in another one now; or out of one that is being filled, where
-- they were copied and have changed since.
--
-- KEYS[1]  meta key of the partition
-- ARGV     items or lanes, who splits it, then of an item its name and its lane, of a lane its name and ''
-- RETURNS  how many; -1 where the partition has not got so far, or is not being filled by that one
-- USES     created, searching
-- COST     a write for each list and entry of the index, and one for its keys
local m = call('HMGET', M, META.splitting, META.splitter)
if m[1] ~= STAGE.copied and (m[1] ~= STAGE.filling or m[2] ~= ARGV[2]) then return -1 end
local isItems = ARGV[1] == 'items'
for at = 3, #ARGV, 2 do
  local name, lane = ARGV[at], ARGV[at + 1]
  if isItems then
    note_forgotten(name)
    take_from_index(name)
    for _, list in ipairs({ KEY.closed, KEY.quarantine, KEY.orders }) do call('ZREM', key(list), name) end
    for _, wheel in ipairs({ URGENT, REST }) do call('ZREM', key(wheel, lane), name) end
    call('UNLINK', key(KEY.item, name), key(KEY.long, name), key(KEY.log, name), key(KEY.attempts, name),
      key(KEY.notes, name))
  else
    for _, list in ipairs({ KEY.readyRest, KEY.readyUrgent, KEY.occupiedLanes, KEY.knownLanes }) do
      call('ZREM', key(list), name)
    end
    call('SREM', key(KEY.lanesWithSettings), name)
    call('UNLINK', key(KEY.rest, name), key(KEY.urgent, name), key(KEY.lane, name), key(KEY.replay, name))
  end
end
return (#ARGV - 2) / 2
