#!lua flags=no-writes
-- Lists registered endpoints, the newest first.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     accounts, each between spaces, or '' for all, place to go on after or '', most to tell, most to look at
-- RETURNS  {place to go on after or '', id, value, id, value, …}
-- COST     one read for each looked at
local after, limit, looks = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local from = after == '' and '+' or '(' .. after
local places = call('ZREVRANGEBYLEX', key(KEY.endpointOrder), from, '-', 'LIMIT', 0, looks)
local reply = { #places == looks and places[#places] or '' }
for at, place in ipairs(places) do
  local id = string.match(place, '%S+$')
  local value = call('HGET', key(KEY.endpoints), id)
  local account = value and string.match(value, '^%d+ %d+( %S+ )')
  if account and (ARGV[1] == '' or string.find(ARGV[1], account, 1, true)) then
    if #reply == 2 * limit + 1 then
      reply[1] = places[at - 1]
      break
    end
    reply[#reply + 1] = id
    reply[#reply + 1] = value
  end
end
return reply
