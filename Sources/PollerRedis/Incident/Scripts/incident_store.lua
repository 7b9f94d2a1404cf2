#!lua flags=allow-oom
-- Ends a turn of checking the cluster: stores the open incidents, with the events that report them. Each incident is an
-- item that is closed from the start: it is in no schedule, and is removed like closed watches. An incident that was
-- open for longer than the retention is stored again with its last event.
--
-- KEYS[1]  meta key of the incidents' partition
-- ARGV     turn, pause before the next one ms, lane, the board, then for each incident to report: id, name, policy and
--          state (see WatchRecord), time of the report ms, seq of the event, the event as JSON and packed or '', and
--          the incident as JSON when it has ended, else ''
-- RETURNS  1, or 0 when another process has the turn
-- COST     three writes, and about 8 per incident
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
