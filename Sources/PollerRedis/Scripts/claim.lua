#!lua flags=allow-oom
-- Takes due items under a lease, after putting back those whose lease has ended.
--
-- KEYS[1]  meta key of the partition
-- ARGV     owner, most items, lease ms, and the limit of lanes without their own: interval µs
--          (0: no rate), burst, most in flight; ahead ms
-- RETURNS  {now ms, next ready ms or -1, leases put back, {lane without a slot left, …}, item, item, …};
--          an item is {id, token, due ms, start ms, lane, private part, {field, value, …}}; where an
--          endpoint's attempts fail also since when in ms, and how many in a row
-- USES     claiming
-- COST     one HGETALL an item and four variadic writes a lane; lanes at their limit are not even
--          read: their score in the ready set is in the future
local now, wall, back, gap = watched_clocks()
local reply = { int(wall), '-1', 0, {} }
local earliest
reply[3], earliest = recover(now, number(ARGV[3]))
claim(ARGV, now, back, gap, reply)
save_lanes(now)
reply[2] = next_ready(back, earliest)
return reply
