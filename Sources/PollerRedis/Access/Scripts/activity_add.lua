#!lua flags=allow-oom
-- Adds the activity of a process to the rings of the activity history. A full store accepts this write: a ring is a
-- hash with a fixed number of fields, one per time step, and new steps overwrite old ones.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     step s and number of fields of a ring, twice; then the counts, one number each
-- RETURNS  1
-- COST     two reads and two writes
local now = clock()
for ring = 1, 3, 2 do
  local step, fields = tonumber(ARGV[ring]), tonumber(ARGV[ring + 1])
  local hash, slot = key(KEY.activity, ARGV[ring]), math.floor(now / (step * 1000))
  local field = int(slot % fields)
  local sums, at = { int(slot) }, 1
  local stored = call('HGET', hash, field)
  if stored and tonumber(string.match(stored, '^%d+')) == slot then
    for number in string.gmatch(stored, '%d+') do
      sums[at] = number
      at = at + 1
    end
  end
  for argument = 5, #ARGV do
    sums[argument - 3] = int((tonumber(sums[argument - 3]) or 0) + tonumber(ARGV[argument]))
  end
  call('HSET', hash, field, table.concat(sums, ' '))
end
return 1
