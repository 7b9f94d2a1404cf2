#!lua flags=allow-oom
-- Claims due items under a lease, after recovering expired leases.
--
-- KEYS[1]  meta key of the partition
-- ARGV     owner, most items, lease ms, and the limit of lanes without their own: interval µs (0: no rate), burst, most
--          in flight; ahead ms
-- RETURNS  {now ms, next ready ms or -1, leases recovered, {lane without a free slot, …}, item, item, …}; an item is
--          {id, token, due ms, start ms, lane, private part, {field, value, …}}; if the endpoint's attempts fail, also
--          the time of the first failure in ms and the number of failures in a row
-- USES     lib_claim
-- COST     one HGETALL per item and four variadic writes per lane. Lanes at their limit are not read: their score in
--          the ready set is in the future
local now, wall, back, gap = clocks_and_gap()
local reply = { int(wall), '-1', 0, {} }
local earliest
reply[3], earliest = recover(now, number(ARGV[3]))
claim(ARGV, now, back, gap, reply)
save_lanes(now)
reply[2] = next_ready(back, earliest)
return reply
