#!lua flags=no-writes
-- Reads items or lanes with all of their data, to write them to another partition (split_write.lua).
--
-- KEYS[1]  meta key of the partition
-- ARGV     items or lanes; or sums, to check whether items have changed; then their names
-- RETURNS  for each {lane or '', entries in the index or '', {kind of key, ms to live or 0, its value, …}, {list or
--          schedule, score, …}, sum}; if it is gone, the third and fourth are empty. For sums only the sum. Those after
--          a megabyte of values are left out: the caller asks again
-- USES     lib_created_index, lib_search_index
-- COST     two reads per existing key, one per list, and a digest
-- The size of a reply, exceeded by at most one item. A log of a hundred large events is several MiB.
local BYTES_MAX = 1048576
local isItems, isSums, reply, bytes = ARGV[1] ~= 'lanes', ARGV[1] == 'sums', {}, 0
local kinds = isItems and { KEY.item, KEY.long, KEY.log, KEY.attempts, KEY.notes } or { KEY.lane, KEY.replay }
local lists = isItems and { KEY.closed, KEY.quarantine, KEY.orders }
  or { KEY.readyNormal, KEY.readyUrgent, KEY.occupiedLanes, KEY.knownLanes }
for at = 2, #ARGV do
  local name, keys, positions, w, parts = ARGV[at], {}, {}, {}, {}
  local function add_position(kind, score)
    if score then
      positions[#positions + 1] = kind
      positions[#positions + 1] = score
      parts[#parts + 1] = kind .. score
    end
  end
  for _, kind in ipairs(kinds) do
    local value = call('DUMP', key(kind, name))
    if value then
      parts[#parts + 1] = kind .. value
      if not isSums then
        keys[#keys + 1] = kind
        keys[#keys + 1] = max(call('PTTL', key(kind, name)), 0)
        keys[#keys + 1] = value
        bytes = bytes + #value
      end
    end
  end
  for _, list in ipairs(lists) do add_position(list, call('ZSCORE', key(list), name)) end
  if isItems then
    w = call('HMGET', key(KEY.item, name), ITEM.lane)
    w[2] = entries_of(name)
    if w[1] then
      for _, schedule in ipairs({ NORMAL, URGENT }) do
        add_position(schedule, call('ZSCORE', key(schedule, w[1]), name))
      end
    end
  elseif call('SISMEMBER', key(KEY.lanesWithSettings), name) == 1 then
    add_position(KEY.lanesWithSettings, '')
  end
  local sum = isItems and sub(redis.sha1hex(table.concat(parts, ' ')), 1, 15) or ''
  reply[#reply + 1] = isSums and sum or { w[1] or '', w[2] or '', keys, positions, sum }
  if bytes > BYTES_MAX then break end
end
return reply
