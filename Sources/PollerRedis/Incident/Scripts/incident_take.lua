#!lua flags=allow-oom
-- Takes the turn of checking the cluster for incidents, when it is due.
--
-- KEYS[1]  meta key of the incidents' partition
-- ARGV     owner, how long the owner has the turn, ms
-- RETURNS  {turn, now by the wall clock ms, the board or ''}; {} while it is not due, or another process has it
-- COST     one read and one write
local now, wall = clocks()
local board = key(KEY.incidents)
local f = call('HMGET', board, INCIDENT.due, INCIDENT.turn, INCIDENT.board)
-- The longest turn or pause, ms. A due time further ahead is from another server's clock.
local AHEAD_MAX = 60000
local due = number(f[1] or 0)
if due > now and due <= now + AHEAD_MAX then return {} end
local turn = number(f[2] or 0) + 1
call('HSET', board, INCIDENT.turn, text(turn), INCIDENT.owner, ARGV[1], INCIDENT.due,
  int(now + number(ARGV[2])))
return { turn, int(wall), f[3] or '' }
