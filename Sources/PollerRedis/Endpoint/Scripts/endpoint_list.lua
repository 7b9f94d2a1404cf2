#!lua flags=no-writes
-- Lists registered endpoints, the newest first.
--
-- KEYS[1]  meta key of partition 0
-- ARGV     accounts, each between spaces, or '' for all, position to continue after or '', most to return, most to read
-- RETURNS  {position to continue after or '', id, value, id, value, …}
-- COST     one read per endpoint checked
local after, limit, reads_max = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local from = after == '' and '+' or '(' .. after
local positions = call('ZREVRANGEBYLEX', key(KEY.endpointOrder), from, '-', 'LIMIT', 0, reads_max)
local reply = { #positions == reads_max and positions[#positions] or '' }
for at, position in ipairs(positions) do
  local id = string.match(position, '%S+$')
  local value = call('HGET', key(KEY.endpoints), id)
  local account = value and string.match(value, '^%d+ %d+( %S+ )')
  if account and (ARGV[1] == '' or string.find(ARGV[1], account, 1, true)) then
    if #reply == 2 * limit + 1 then
      reply[1] = positions[at - 1]
      break
    end
    reply[#reply + 1] = id
    reply[#reply + 1] = value
  end
end
return reply
