#!lua flags=allow-oom
-- Records what came of leases, each only while it is held; then takes due items, if asked to.
--
-- KEYS[1]  meta key of the partition all of them belong to
-- ARGV     the seven values of claim.lua, most items 0 to take none; then for each lease six:
--          id, token, verdict, wait ms or reason, wheel of the next turn (u|z), state (packed).
--          Verdicts are next, close, rest; one that ends in + is followed by six more: error
--          or '', signal ('' fine, h hold, s slow, f failing, r refused), its ms, event seq or 0, event
--          JSON or '', and the channel to publish it on or ''
-- RETURNS  {results, claim}: for each lease 1 (recorded, now or before) or 0 (LEASELOST: nothing
--          written); and claim.lua's answer, or an empty list
-- USES     claiming
-- ERRORS   BADSEQ: an event does not follow the last one; nothing of the batch is written then
-- COST     one HSET for an unchanged item; all else once for the batch or a lane of it
local owner, now = ARGV[1], clock()
local before = head_of_partition()

local commits, ids = {}, {}
local at = 8
while at <= #ARGV do
  local commit = { id = ARGV[at], token = ARGV[at + 1], verdict = ARGV[at + 2],
    wait = ARGV[at + 3], wheel = ARGV[at + 4], state = ARGV[at + 5], error = '', signal = '',
    seq = 0 }
  at = at + 6
  if string.sub(commit.verdict, -1) == '+' then
    commit.verdict = string.sub(commit.verdict, 1, -2)
    commit.error, commit.signal, commit.span = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
    commit.seq, commit.json, commit.channel = tonumber(ARGV[at + 3]), ARGV[at + 4], ARGV[at + 5]
    at = at + 6
  end
  commits[#commits + 1] = commit
  ids[#ids + 1] = commit.id
end

local results, held = {}, {}
local leases = #ids > 0 and redis.call('HMGET', key('f'), unpack(ids)) or {}
local seen = {}
for index, commit in ipairs(commits) do
  local result = 0
  if leases[index] then
    local token, holder, _, _, marks, lane = unpack_lease(leases[index])
    if token == commit.token and holder == owner then
      result = 1
      -- The same commit twice in one batch is one commit.
      if not seen[commit.id] then
        if commit.seq > 0 then
          local seq = tonumber(redis.call('HGET', key('w', commit.id), 'q') or 0)
          if commit.seq ~= seq + 1 then
            return redis.error_reply('BADSEQ ' .. commit.id .. ' has ' .. seq .. ' events')
          end
        end
        commit.lane, commit.marks = lane, marks
        held[#held + 1] = commit
        seen[commit.id] = true
      end
    end
  elseif redis.call('HGET', key('w', commit.id), 'g') == commit.token then
    -- The token is ours and nobody holds it: an earlier try of this commit got through.
    result = 1
  end
  results[index] = result
end

-- What the attempt says about everybody in its lane (LaneSignal.swift).
local function hear(lane, signal, span)
  if signal == '' then
    set(lane, 's', nil)
    set(lane, 'o', nil)
    lane.isFailing = false
    return
  end
  if signal == 'f' then
    set(lane, 's', (lane.s or 0) + 1)
    lane.isFailing = true
  else
    set(lane, 'u', math.max(lane.u or 0, now + span))
  end
  if signal == 's' then
    -- Twenty answers of one burst halve the lane once.
    if now >= (lane.v or 0) then set(lane, 'r', math.max(1 / 32, factor_of(lane, now) / 2)) end
    set(lane, 'v', math.max(lane.v or 0, now + span))
  elseif signal == 'r' then
    set(lane, 's', math.max(lane.s or 0, FAILURES_MAX))
  end
  rescore(lane)
end

-- Opens the circuit of a lane whose attempts got no answer, longer each time.
local function judge(lane)
  if not lane.isFailing or lane.s < FAILURES_MAX or now < (lane.u or 0) then return end
  set(lane, 'u', now + math.min(60000, 1000 * 2 ^ math.min(lane.o or 0, 6)))
  set(lane, 'o', (lane.o or 0) + 1)
  rescore(lane)
end

local told, done, slots, places, closed, dead = false, {}, {}, {}, {}, {}
for _, commit in ipairs(held) do
  local id, verdict, wait = commit.id, commit.verdict, commit.wait
  local isMarked = string.find(commit.marks, 'k', 1, true)
  -- Joined during the lease with a later deadline: the old one closes nothing. Look again.
  local isProlonged = verdict == 'close' and wait == 'expired' and isMarked
    and tonumber(redis.call('HGET', key('w', id), 'x') or 0) > now
  if isProlonged then verdict, wait = 'next', '0' end
  if commit.seq > 0 and not isProlonged then
    record(id, commit.seq, commit.json, commit.channel)
    told = true
  end
  local due
  if verdict == 'next' then
    due = isMarked and now or now + tonumber(wait)
  elseif verdict == 'rest' and isMarked then
    due = now
  end
  if due then
    redis.call('HSET', key('w', id), 'g', commit.token, 'v', commit.state)
    local wheel = isMarked and URGENT or commit.wheel
    local name = wheel .. commit.lane
    places[name] = places[name] or { lane = commit.lane, wheel = wheel, due = {} }
    local list = places[name].due
    list[#list + 1] = int(due)
    list[#list + 1] = id
  else
    local reason = verdict == 'close' and wait or 'settled'
    redis.call('HSET', key('w', id), 'g', commit.token, 'v', commit.state, 'c', reason)
    closed[#closed + 1] = int(now)
    closed[#closed + 1] = id
    if reason == 'dead' then
      dead[#dead + 1] = int(now)
      dead[#dead + 1] = id
    end
  end
  -- `y` says that an error is kept among the long values, so that the good path never asks.
  if commit.error ~= '' then
    redis.call('HSET', key('o', id), 'y', commit.error)
    redis.call('HSET', key('w', id), 'y', 1)
  elseif string.find(commit.marks, 'y', 1, true) then
    redis.call('HDEL', key('o', id), 'y')
    redis.call('HDEL', key('w', id), 'y')
  end
  if string.find(commit.marks, 'z', 1, true) then redis.call('HDEL', key('w', id), 'z') end
  hear(lane_of(commit.lane), commit.signal, commit.span)
  slots[commit.lane] = (slots[commit.lane] or 0) + 1
  done[#done + 1] = id
end

if #done > 0 then
  redis.call('ZREM', key('r'), unpack(done))
  redis.call('HDEL', key('f'), unpack(done))
end
if #closed > 0 then redis.call('ZADD', key('h'), unpack(closed)) end
if #dead > 0 then redis.call('ZADD', key('x'), unpack(dead)) end
for _, place in pairs(places) do add_to_wheel(place.lane, place.wheel, place.due) end
for lane, count in pairs(slots) do
  judge(lane_of(lane))
  give_back(lane, count)
end
save_lanes(now)
if told then redis.call('PUBLISH', N .. 'recorded', string.match(P, '%d+')) end

local reply = {}
if tonumber(ARGV[2]) > 0 then
  reply = { int(now), '-1', recover(now) }
  if reply[3] > 0 then save_lanes(now) end
  claim(ARGV, now, reply)
  save_lanes(now)
  reply[2] = next_ready()
else
  wake_if_earlier(before)
end
return { results, reply }
