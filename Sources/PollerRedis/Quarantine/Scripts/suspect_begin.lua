#!lua flags=allow-oom
-- Marks entries as in progress, and reports which of them a process has left behind (PoisonGuard.swift).
--
-- KEYS[1]  meta key of the partition
-- ARGV     '1' to count a death for each entry that was left, '0' to report it only; then for each entry two values:
--          its id, and how old a mark must be to count as a death, ms
-- RETURNS  {now ms, then for each entry two values: deaths before, or -1 while its mark is younger, or -2 when it is
--          set aside; when the first of them began, ms}
-- COST     two reads per entry, and one write per marked entry
local now, wall = clocks()
local hash, set_aside = key(KEY.suspects), key(KEY.setAside)
local isCounting, reply = ARGV[1] == '1', { int(wall) }
-- Marks that no process picks up again expire within a day, or when there are too many.
local COUNT_MAX, RETENTION = 10000, '86400000'
if call('HLEN', hash) > COUNT_MAX then call('DEL', hash) end
for at = 2, #ARGV, 2 do
  local id, deaths, first = ARGV[at], 0, int(wall)
  if call('HEXISTS', set_aside, id) == 1 then
    deaths = -2
  else
    local count, began, last = match(call('HGET', hash, id) or '', '^(%d+) (%d+) (%d+)$')
    if count then deaths, first = number(count), began end
    local span = number(ARGV[at + 1])
    -- A mark from the future is from another server's clock. It counts as old.
    local isRecent = count and now < number(last) + span and now >= number(last)
    if isRecent then
      deaths = -1
    elseif deaths == 0 or isCounting then
      call('HSET', hash, id, text(deaths + 1) .. ' ' .. first .. ' ' .. int(now))
    end
  end
  reply[#reply + 1] = deaths
  reply[#reply + 1] = first
end
call('PEXPIRE', hash, RETENTION)
return reply
