#!lua flags=allow-oom
-- Ends a turn to look at the cluster: stores what operators are told of, with the events that tell it.
-- Each incident is an item that is closed from its beginning: it is in no wheel, and is forgotten like
-- closed watches. One that was open for longer than that comes back with its last event.
--
-- KEYS[1]  meta key of the incidents' partition
-- ARGV     turn, pause before the next one ms, lane, the board, then for each incident that is told: id,
--          name, policy and state (see WatchRecord), when it was told ms, seq of the event, the event as JSON
--          and packed or '', and the incident as JSON when it is over, else ''
-- RETURNS  1, or 0 when the turn has passed to somebody else
-- COST     three writes, and about 8 an incident
local now, wall = clocks()
local board, past = key(KEY.incidents), key(KEY.incidentsPast)
if call('HGET', board, INCIDENT.turn) ~= ARGV[1] then return 0 end
call('HSET', board, INCIDENT.board, ARGV[4], INCIDENT.due, int(now + number(ARGV[2])))
for at = 5, #ARGV, 9 do
  local id, seq = ARGV[at], ARGV[at + 5]
  local item = key(KEY.item, id)
  if call('EXISTS', item) == 0 then
    call('HSET', item, ITEM.source, ARGV[at + 1], OPTION.policy, ARGV[at + 2], ITEM.lane, ARGV[3],
      ITEM.began, ARGV[at + 4], ITEM.deadline, ARGV[at + 4], ITEM.run, '1', ITEM.closed, CLOSED.settled)
    if number(seq) > 1 then call('HSET', item, ITEM.forgottenSeq, text(number(seq) - 1)) end
  end
  call('HSET', item, ITEM.state, ARGV[at + 3])
  call('ZADD', key(KEY.closed), int(wall), id)
  call('SADD', key(KEY.incidentItems), id)
  record(id, seq, '', ARGV, at + 6, at + 7)
  if ARGV[at + 8] ~= '' then
    call('LPUSH', past, ARGV[at + 8])
    call('LTRIM', past, '0', '99')
  end
end
if #ARGV > 4 then call('PUBLISH', N .. CHANNEL.recorded, match(P, '%d+')) end
return 1
