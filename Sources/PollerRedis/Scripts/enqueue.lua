#!lua
-- Accepts watches: new ones begin, closed ones begin again, open ones are joined.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     for each watch nine values: id, source, facts (see WatchRecord), lane,
--          timeout ms, notify (URLs by newline), private part (client secret or ''),
--          metadata (JSON or empty), order to charge (JSON or empty)
-- RETURNS  for each watch {outcome: created|restarted|joined, run, seq}
-- ERRORS   IDCLASH: another source has this id; nothing of the batch is written then
-- COST     one read and one write for a new watch, and two writes a lane
local now, wall = clocks()
local before = head_of_partition()
local found = {}
for at = 1, #ARGV, 9 do
  local id = ARGV[at]
  local w = redis.call('HMGET', key('w', id), 's', 'c', 'n', 'q', 'x', 'l', 'i', 'r')
  if w[1] and w[1] ~= ARGV[at + 1] then
    return redis.error_reply('IDCLASH ' .. id .. ' is the id of another source')
  end
  found[at] = w
end

local function merged(old, new)
  if not old or old == '' then return new end
  local seen, lines = {}, {}
  for line in string.gmatch(old .. '\n' .. new, '[^\n]+') do
    if not seen[line] and #lines < 64 then
      seen[line] = true
      lines[#lines + 1] = line
    end
  end
  return table.concat(lines, '\n')
end

-- How far a watch goes (see WatchRecord): of two requests the farther holds.
local REACH = { l = 1, f = 3 }
local function farther(old, new)
  local was, asked = string.match(old, '|(%a)$'), string.match(new, '|(%a)$')
  if (REACH[asked] or 2) <= (REACH[was] or 2) then return old end
  return string.match(old, '^[^|]*') .. (asked and '|' .. asked or '')
end

local replies, done, places = {}, {}, {}
for at = 1, #ARGV, 9 do
  local id, source, facts, lane = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local deadline = wall + tonumber(ARGV[at + 4])
  local notify, secret, metadata = ARGV[at + 5], ARGV[at + 6], ARGV[at + 7]
  local charge = ARGV[at + 8]
  local w = found[at]
  local item = key('w', id)
  -- The same source twice in one batch: the second joins the first.
  if done[id] then w = redis.call('HMGET', item, 's', 'c', 'n', 'q', 'x', 'l', 'i', 'r') end

  local run, seq, outcome = tonumber(w[3] or 0), tonumber(w[4] or 0), 'joined'
  if not w[1] or w[2] then
    outcome = w[1] and 'restarted' or 'created'
    run = run + 1
    local values = { 's', source, 'i', facts, 'l', lane, 'b', int(wall), 'x', int(deadline), 'n', run }
    if secret ~= '' or charge ~= '' then
      values[#values + 1] = 'e'
      values[#values + 1] = charge ~= '' and 2 or 1
    end
    redis.call('HSET', item, unpack(values))
    if w[1] then
      redis.call('HDEL', item, 'c', 'h', 'v', 'y', 'z', 'j', 'r')
      if secret == '' and charge == '' then redis.call('HDEL', item, 'e') end
      redis.call('DEL', key('o', id))
      redis.call('ZREM', key('h'), id)
      redis.call('ZREM', key('x'), id)
    end
    places[lane] = places[lane] or {}
    local list = places[lane]
    list[#list + 1] = int(now)
    list[#list + 1] = id
    if notify ~= '' then redis.call('HSET', key('o', id), 'n', notify) end
  else
    -- It stays in the lane it is in, whatever this request calls it.
    lane = w[6]
    if deadline > tonumber(w[5]) then redis.call('HSET', item, 'x', int(deadline)) end
    -- It is no longer there for a hint's news alone.
    if w[8] then redis.call('HDEL', item, 'r') end
    local reach = farther(w[7], facts)
    if reach ~= w[7] then redis.call('HSET', item, 'i', reach) end
    if notify ~= '' then
      redis.call('HSET', key('o', id), 'n', merged(redis.call('HGET', key('o', id), 'n'), notify))
    end
    -- The first order to charge holds: a second one must not change what its key stands for. An
    -- order to charge nothing has no key, and gives way.
    if redis.call('HGET', item, 'e') == '2'
      and (charge == 'false' or redis.call('HGET', key('o', id), 'k') ~= 'false') then
      charge = ''
    elseif secret ~= '' or charge ~= '' then
      redis.call('HSET', item, 'e', charge ~= '' and 2 or 1)
    end
    local lease = redis.call('HGET', key('f'), id)
    if lease then
      mark_lease(id, lease)
    elseif tonumber(redis.call('ZSCORE', key(REST, lane), id)
      or redis.call('ZSCORE', key(URGENT, lane), id) or now) > now then
      make_due(id, lane, now)
    end
  end
  if metadata ~= '' then redis.call('HSET', key('o', id), 'm', metadata) end
  if secret ~= '' then redis.call('HSET', key('o', id), 'p', secret) end
  if charge ~= '' then redis.call('HSET', key('o', id), 'k', charge) end
  done[id] = true
  replies[#replies + 1] = { outcome, run, seq }
end
-- What was joined may have written nothing: here is something that replicas can be waited for with.
if not next(places) then redis.call('HSET', KEYS[1], 'joined', int(now)) end
for lane, list in pairs(places) do add_to_wheel(lane, URGENT, list) end
save_lanes(now)
wake_if_earlier(before)
return replies
