-- Stands before every script: the names of keys, the clock, and the arithmetic of lanes.
--
-- KEYS[1] is always the partition's meta key, `<namespace>m{<partition>}`; every other key is
-- made from it, so that all of a script's keys are in one slot of a Redis Cluster.

local N, P = string.match(KEYS[1], '^(.*)m({%d+})$')
local function clock() local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000) end

-- The key of a kind (see Keys.swift), of the partition or of one item or lane in it.
local function key(kind, name) return N .. kind .. P .. (name or '') end

-- An integer as Redis wants it: Lua would write 1.7e+12.
local function int(x) return string.format('%.0f', x) end

-- The earliest ready time of any lane of the partition, or nil.
local function head_of_partition()
  local head = redis.call('ZRANGE', key('a'), 0, 0, 'WITHSCORES')
  local score = tonumber(head[2] or '')
  if score and score < math.huge then return score end
end

-- Stores when a lane is worth a claim: not before its earliest item is due, its limiter allows
-- one more, nor while it is held; never while all its slots are taken or nothing waits in it (a
-- commit or the end of a lease will tell). A lane with nothing at all leaves the set.
local function rescore(lane, floor)
  local head = redis.call('ZRANGE', key('z', lane), 0, 0, 'WITHSCORES')[2]
  if not head then
    local c = redis.call('HMGET', key('c', lane), 'f', 't', 'u')
    if tonumber(c[1] or 0) > 0 then
      redis.call('ZADD', key('a'), '+inf', lane)
    else
      redis.call('ZREM', key('a'), lane)
      -- Nothing to remember either: no slot is taken, its rate has recovered, nobody holds it.
      if math.max(tonumber(c[2] or 0), tonumber(c[3] or 0)) <= clock() then
        redis.call('DEL', key('c', lane))
      end
    end
    return
  end
  local limits = redis.call('HMGET', key('c', lane), 'n', 'u', 'p')
  if limits[3] then
    redis.call('ZADD', key('a'), '+inf', lane)
    return
  end
  local ready = math.max(tonumber(head), tonumber(limits[1] or 0), tonumber(limits[2] or 0), floor or 0)
  redis.call('ZADD', key('a'), string.format('%.3f', ready), lane)
end

-- Gives slots of a lane back; a lane parked for want of one may be claimed from again.
local function give_back(lane, count)
  redis.call('HINCRBY', key('c', lane), 'f', -count)
  redis.call('HDEL', key('c', lane), 'p')
end

-- Tells the workers that the partition has something earlier than they were told.
local function wake_if_earlier(before)
  local after = head_of_partition()
  if after and (not before or after < before) then
    redis.call('PUBLISH', N .. 'wake', string.match(P, '%d+'))
  end
end

-- Records an event: in the outbox, in the item's own log, and to those who listen right now.
-- The stream comes first: it is the write that can fail.
local function record(id, seq, json, channel)
  local notify = redis.call('HGET', key('o', id), 'n') or ''
  redis.call('XADD', key('e'), '*', 'i', id, 'e', json, 'n', notify)
  redis.call('RPUSH', key('l', id), json)
  redis.call('LTRIM', key('l', id), -100, -1)
  redis.call('HSET', key('w', id), 'q', seq)
  redis.call('PUBLISH', channel, json)
end
