#!lua
-- Puts items into the index by creation that are not in it, and those into the right half that are in the wrong one:
-- what releases before this one have written.
--
-- KEYS[1]  meta key of the partition
-- ARGV     ids
-- RETURNS  how many were put there
-- USES     created
-- COST     five reads an item, and two writes for each that is put there
local count = 0
for _, id in ipairs(ARGV) do
  if is_listed(id) then
    local w = call('HMGET', key(KEY.item, id), ITEM.lane, ITEM.began, ITEM.closed)
    if w[1] and is_misfiled(id, w[1], w[2], w[3]) then
      move_created(id, w[1], w[2], w[3] and true or false)
      count = count + 1
    end
  end
end
return count
