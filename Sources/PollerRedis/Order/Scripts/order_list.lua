#!lua flags=no-writes
-- Pages through the orders of one lane, the newest first.
--
-- KEYS[1]  meta key of the partition
-- ARGV     lane, most ids, score and id of the last one of the previous page ('' '' at the start)
-- RETURNS  {ids, score, id}: the last one checked; '' '' when there are no more. A page may be short or empty without
--          being the last
-- COST     O(log n + ids checked), at most 1,000
local lane, limit, score, last = ARGV[1], number(ARGV[2]), ARGV[3], ARGV[4]
local from = score == '' and '+inf' or score
-- Whether the scan is past the previous page: of equal scores, those after its last id.
local ids, offset, isAfterLast = {}, 0, last == ''
while offset < 1000 do
  local page = call('ZRANGE', key(KEY.orders), from, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, 100,
    'WITHSCORES')
  for at = 1, #page, 2 do
    local id = page[at]
    if not isAfterLast and number(page[at + 1]) ~= number(ARGV[3]) then isAfterLast = true end
    if isAfterLast then
      if #ids >= limit then return { ids, score, last } end
      if call('HGET', key(KEY.item, id), ITEM.lane) == lane then ids[#ids + 1] = id end
      score, last = page[at + 1], id
    elseif id == ARGV[4] then
      isAfterLast = true
    end
  end
  if #page < 200 then return { ids, '', '' } end
  offset = offset + 100
end
return { ids, score, last }
