#!lua flags=allow-oom
-- Takes the turn to look at the cluster for what operators are told, when it is due.
--
-- KEYS[1]  meta key of the incidents' partition
-- ARGV     owner, how long it is the owner's, ms
-- RETURNS  {turn, now by the wall clock ms, the board or ''}; {} while it is not due, or somebody has it
-- COST     one read and one write
local now, wall = clocks()
local board = key(KEY.incidents)
local f = call('HMGET', board, INCIDENT.due, INCIDENT.turn, INCIDENT.board)
-- Nobody takes a turn for longer, nor pauses, ms: farther ahead it is of another server's clock.
local AHEAD_MAX = 60000
local due = number(f[1] or 0)
if due > now and due <= now + AHEAD_MAX then return {} end
local turn = number(f[2] or 0) + 1
call('HSET', board, INCIDENT.turn, text(turn), INCIDENT.owner, ARGV[1], INCIDENT.due,
  int(now + number(ARGV[2])))
return { turn, int(wall), f[3] or '' }
