#!lua flags=allow-oom
-- Claims due items under a lease, after recovering expired leases.
--
-- KEYS[1]  meta key of the partition
-- ARGV     the request, MessagePack with names (ClaimField in ScriptCodes.swift)
-- RETURNS  the reply, MessagePack with names (ReplyField), then a list of leases, each a list of values (LeaseValue)
-- USES     lib_recover, lib_claim
-- COST     five reads if nothing is due, else one HGETALL per item and four variadic writes per lane. Lanes at their
--          limit are not read: their score in the ready set is in the future
local request = cmsgpack.unpack(ARGV[1])
local now, wall, back, gap = clocks_and_gap()
local reply, first_lease = { now = wall, fullLanes = {} }, nil
reply.recovered, first_lease = recover(now)
local claimed = claim(request, now, back, gap, reply.fullLanes)
save_lanes(now)
reply.nextReady = next_ready(back, first_lease, claimed[1] and now + request.leaseMs)
return cmsgpack.pack(reply, claimed)
