-- Stands before the scripts that know how many registered endpoints each account has.
--
-- The counts are those of a version of the registry, which every change raises, whatever release makes it.
-- So a release that knows no counts makes them wrong, and everybody sees it: they are counted anew by the
-- next who needs them.

-- How many endpoints the accounts have, counted by the records: {account -> count}.
local function count_endpoints()
  local counts, records = {}, call('HVALS', key(KEY.endpoints))
  for at = 1, #records do
    local account = match(records[at], '^%d+ %d+ (%S+) ')
    if account then counts[account] = (counts[account] or 0) + 1 end
  end
  return counts
end

-- Whether the counts that are kept are those of a version.
local function has_counted(version)
  return version and call('HGET', key(KEY.registry), REGISTRY.counted) == version
end

-- Counts anew where that is necessary.
local function ensure_counts(version)
  if not version or has_counted(version) then return end
  call('DEL', key(KEY.endpointCounts))
  for account, count in pairs(count_endpoints()) do
    call('HSET', key(KEY.endpointCounts), account, count)
  end
  call('HSET', key(KEY.registry), REGISTRY.counted, version)
end
