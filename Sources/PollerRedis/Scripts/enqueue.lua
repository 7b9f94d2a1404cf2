#!lua
-- Accepts watches: new ones begin, closed ones begin again, open ones are joined.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     for each watch eight values: id, source, facts (see WatchRecord), lane,
--          timeout ms, notify (URLs by newline), private part (client secret or ''),
--          metadata (JSON or empty)
-- RETURNS  for each watch {outcome: created|restarted|joined, run, seq}
-- ERRORS   IDCLASH: another source has this id; nothing of the batch is written then
-- COST     about 8 commands for a new watch; no write when joining one that is due already
local now = clock()
local before = head_of_partition()
local found = {}
for at = 1, #ARGV, 8 do
  local id = ARGV[at]
  local w = redis.call('HMGET', key('w', id), 's', 'c', 'n', 'q', 'o', 'x', 'l')
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

local lanes, replies, done = {}, {}, {}
for at = 1, #ARGV, 8 do
  local id, source, facts, lane = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local deadline = now + tonumber(ARGV[at + 4])
  local notify, secret, metadata = ARGV[at + 5], ARGV[at + 6], ARGV[at + 7]
  local w = found[at]
  local item = key('w', id)
  -- The same source twice in one batch: the second joins the first.
  if done[id] then w = redis.call('HMGET', item, 's', 'c', 'n', 'q', 'o', 'x', 'l') end
  done[id] = true

  local run, seq, outcome = tonumber(w[3] or 0), tonumber(w[4] or 0), 'joined'
  if not w[1] or w[2] then
    outcome = w[1] and 'restarted' or 'created'
    run = run + 1
    redis.call('HSET', item, 's', source, 'i', facts, 'l', lane, 'b', int(now),
      'x', int(deadline), 'n', run)
    if w[1] then
      redis.call('HDEL', item, 'c', 'h', 'k', 'e', 'v', 'y')
      redis.call('DEL', key('o', id))
      redis.call('ZREM', key('h'), id)
    end
    if notify ~= '' then redis.call('HSET', key('o', id), 'n', notify) end
    if metadata ~= '' then redis.call('HSET', key('o', id), 'm', metadata) end
    redis.call('ZADD', key('z', lane), int(now), id)
  else
    -- It stays in the lane it is in, whatever this request calls it.
    lane = w[7]
    if deadline > tonumber(w[6]) then redis.call('HSET', item, 'x', int(deadline)) end
    if notify ~= '' then
      redis.call('HSET', key('o', id), 'n', merged(redis.call('HGET', key('o', id), 'n'), notify))
    end
    if metadata ~= '' then redis.call('HSET', key('o', id), 'm', metadata) end
    if w[5] and w[5] ~= '' then
      redis.call('HSET', item, 'k', 1)
    else
      redis.call('ZADD', key('z', lane), 'LT', int(now), id)
    end
  end
  if secret ~= '' then
    redis.call('HSET', key('o', id), 'p', secret)
    redis.call('HSET', item, 'e', 1)
  end
  lanes[lane] = true
  replies[#replies + 1] = { outcome, run, seq }
end
for lane in pairs(lanes) do rescore(lane) end
wake_if_earlier(before)
return replies
