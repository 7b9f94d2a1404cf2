#!lua flags=allow-oom
-- Takes an account's sweep when it is due and no other process has it.
--
-- KEYS[1]  the account's sweep, a hash (SWEEP)
-- ARGV     owner, span ms, the current interval of the account's sweeps, ms, or '' for the previous one
-- RETURNS  {1 when it was taken, cursor, caught up ms or '', now ms, 1 when events are to be read again}
-- COST     at most one write
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local f = redis.call('HMGET', KEYS[1], SWEEP.owner, SWEEP.heldUntil, SWEEP.due, SWEEP.cursor, SWEEP.caughtUp,
  SWEEP.pause, SWEEP.reread)
-- The longest span for which a process takes a sweep, ms.
local SPAN_MAX = 300000
-- One and a half times the longest interval between two sweeps, five days.
local REREAD_MAX = 7.5 * 86400000
-- A time further ahead than any process could have set means that the clock was set back since.
local function is_ahead(at, most) return tonumber(at or 0) > now and tonumber(at) <= now + most end
local is_held = f[1] and f[1] ~= ARGV[1] and is_ahead(f[2], SPAN_MAX)
local due, pause, interval = f[3] or 0, tonumber(f[6] or 0), tonumber(ARGV[3])
-- A sweep that has read everything may be due before its interval has passed: that interval fitted an account that may
-- have grown since. A sweep that ended otherwise has failed, or continues at once.
local is_regular = f[5] and f[6] and tonumber(due) - pause == tonumber(f[5])
if interval and is_regular and interval < pause then due, pause = tonumber(f[5]) + interval, interval end
local taken = 0
if not is_held and not is_ahead(due, pause) then
  taken = 1
  redis.call('HSET', KEYS[1], SWEEP.owner, ARGV[1], SWEEP.heldUntil, string.format('%.0f', now + ARGV[2]))
end
return { taken, f[4] or '', f[5] or '', now, is_ahead(f[7], REREAD_MAX) and 0 or 1 }
