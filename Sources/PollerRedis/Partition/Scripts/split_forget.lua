#!lua flags=allow-oom
-- Removes items or lanes that have moved to another partition, or copies in a partition being filled whose originals
-- have changed since.
--
-- KEYS[1]  meta key of the partition
-- ARGV     items or lanes, the process that splits it, then of an item its name and its lane, of a lane its name and ''
-- RETURNS  how many; -1 if the partition has not reached that stage, or another process fills it
-- USES     lib_created_index, lib_search_index
-- COST     one write per list and entry of the index, and one for its keys
local m = call('HMGET', M, META.splitting, META.splitter)
if m[1] ~= STAGE.copied and (m[1] ~= STAGE.filling or m[2] ~= ARGV[2]) then return -1 end
local isItems = ARGV[1] == 'items'
for at = 3, #ARGV, 2 do
  local name, lane = ARGV[at], ARGV[at + 1]
  if isItems then
    remove_created_item(name)
    remove_from_index(name)
    for _, list in ipairs({ KEY.closed, KEY.quarantine, KEY.orders }) do call('ZREM', key(list), name) end
    for _, schedule in ipairs({ URGENT, NORMAL }) do call('ZREM', key(schedule, lane), name) end
    call('UNLINK', key(KEY.item, name), key(KEY.long, name), key(KEY.log, name), key(KEY.attempts, name),
      key(KEY.notes, name))
  else
    for _, list in ipairs({ KEY.readyNormal, KEY.readyUrgent, KEY.occupiedLanes, KEY.knownLanes }) do
      call('ZREM', key(list), name)
    end
    call('SREM', key(KEY.lanesWithSettings), name)
    call('UNLINK', key(KEY.normal, name), key(KEY.urgent, name), key(KEY.lane, name), key(KEY.replay, name))
  end
end
return (#ARGV - 2) / 2
