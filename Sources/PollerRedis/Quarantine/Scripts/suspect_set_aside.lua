#!lua flags=allow-oom
-- Sets an entry aside that has ended several processes. An entry of the outbox is removed from it, so that no reader
-- gets it again; its fields are kept for a redrive. The event stays in the log of its item.
--
-- KEYS[1]  meta key of the partition
-- ARGV     id, the most entries that are kept, the entry as JSON, the id in the outbox or ''
-- RETURNS  1, or 0 when as many are kept already
-- COST     about ten commands
-- Returns whether an id of the outbox, `<ms>-<n>`, is later than another: they do not compare as strings.
local function is_later(a, b)
  local a_ms, a_n = match(a, '^(%d+)-(%d+)$')
  local b_ms, b_n = match(b, '^(%d+)-(%d+)$')
  if a_ms ~= b_ms then return number(a_ms) > number(b_ms) end
  return number(a_n) > number(b_n)
end
local now, wall = clocks()
local set_aside, id, json, entry = key(KEY.setAside), ARGV[1], ARGV[3], ARGV[4]
if call('HEXISTS', set_aside, id) == 0 and call('HLEN', set_aside) >= number(ARGV[2]) then return 0 end
if entry ~= '' then
  local stream = key(KEY.outbox)
  local found = call('XRANGE', stream, entry, entry)[1]
  -- Trimmed, or set aside by another notifier: there is nothing left to keep.
  if not found then
    call('HDEL', key(KEY.suspects), id)
    return 1
  end
  local item, lane
  for at = 1, #found[2], 2 do
    if found[2][at] == ENTRY.item then item = found[2][at + 1] end
    if found[2][at] == ENTRY.lane then lane = found[2][at + 1] end
  end
  local stored = item and call('HMGET', key(KEY.item, item), ITEM.source, ITEM.lane) or {}
  lane = lane or stored[2] or ''
  local account = match(lane, '^(.*)/')
  json = sub(json, 1, -2)
  if stored[1] then json = json .. ',"about":' .. cjson.encode(stored[1]) end
  if account then json = json .. ',"account":' .. cjson.encode(account) end
  json = json .. '}'
  call('HSET', key(KEY.setAsideFields), id, cmsgpack.pack(found[2]))
  -- Readers that have reached the entry must not be ahead of the newest entry ever recorded.
  if is_later(entry, call('HGET', KEYS[1], META.newestSetAside) or '0-0') then
    call('HSET', KEYS[1], META.newestSetAside, entry)
  end
  call('XACK', stream, GROUP.notifier, entry)
  call('XDEL', stream, entry)
  call('HDEL', key(KEY.fanOuts), entry)
end
call('HSET', set_aside, id, json)
call('HDEL', key(KEY.suspects), id)
return 1
