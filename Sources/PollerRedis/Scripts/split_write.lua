#!lua
-- Writes items or lanes that were read from another partition, over what an earlier try has left of them.
--
-- Only a partition that is being filled takes them: whoever comes late with what was read before it was opened would put
-- everything back that has become of it since.
--
-- KEYS[1]  meta key of the partition
-- ARGV     for each: name, its lane or '', entries in the index side by side, how many keys, how many lists; then
--          of each key three values and of each list two, as split_read.lua tells them
-- RETURNS  how many; -1 where the partition is not being filled
-- USES     searching
-- COST     a write for each key, list and entry
if call('HGET', M, META.splitting) ~= STAGE.filling then return -1 end
local at, count = 1, 0
while at <= #ARGV do
  local name, lane, terms, keys, lists = ARGV[at], ARGV[at + 1], ARGV[at + 2], number(ARGV[at + 3]), number(ARGV[at + 4])
  at = at + 5
  for _ = 1, keys do
    call('RESTORE', key(ARGV[at], name), ARGV[at + 1], ARGV[at + 2], 'REPLACE')
    at = at + 3
  end
  for _ = 1, lists do
    local list = ARGV[at]
    if list == KEY.lanesWithSettings then
      call('SADD', key(list), name)
    else
      call('ZADD', key(list, (list == REST or list == URGENT) and lane or nil), ARGV[at + 1], name)
    end
    at = at + 2
  end
  for from = 1, #terms, TERM do
    local term = sub(terms, from, from + TERM - 1)
    call('HSET', key(KEY.searchBucket, sub(term, 1, BUCKET)), sub(term, BUCKET + 1) .. name, '')
  end
  count = count + 1
end
return count
