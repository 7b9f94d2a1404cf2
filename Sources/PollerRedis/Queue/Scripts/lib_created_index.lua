-- Preface of the scripts that create, close, reopen or remove items: the index by creation.
--
-- Lists show the newest item first, so each partition keeps its items in the order of their creation, open ones
-- (KEY.openCreated) and closed ones (KEY.closedCreated) separately. An entry is 13 digits of ms, two characters of a
-- digest of the list filter (a watch's account, a delivery's endpoint), and the item's id: 27 bytes that sort as text.
-- A single sorted set would take 110 bytes per entry. So entries are in leaves of at most LEAF_MAX, which Redis keeps
-- in its compact encoding at about 34 bytes per entry. The name of a leaf is the lowest entry it may hold, and the
-- names of the leaves are the members of a separate set: two levels of a B-tree. Every score is 0.
--
-- Crash safety is that of the script.
local LEAF_MAX, FIRST_LEAF = 100, '0'

-- The last list filter and its digest, because most calls have only one.
local digest_name, digest

-- Returns the digest of a list filter.
local function filter_digest(name)
  if name ~= digest_name then digest_name, digest = name, sub(redis.sha1hex(name), 1, 2) end
  return digest
end

-- Returns the entry of an item of a lane that was created at a time, ms.
local function created_entry(id, lane, began)
  lane = lane or ''
  return format('%013.0f', bounded(began, 0)) .. filter_digest(match(lane, '^(.*)/') or lane) .. id
end

-- Returns the leaf that may hold an entry; nil before the first leaf.
local function leaf_of(kind, entry)
  return call('ZREVRANGEBYLEX', key(kind), '[' .. entry, '-', 'LIMIT', '0', '1')[1]
end

-- Moves the upper half of a full leaf to a new leaf. An appended entry moves alone: items are mostly created in order,
-- and leaves then stay full.
local function split_leaf(kind, leaf, entry, count)
  local name = key(kind, leaf)
  local isAppended = call('ZREVRANGE', name, '0', '0')[1] == entry
  local at = text(isAppended and count - 1 or floor(count / 2))
  local moved = call('ZRANGE', name, at, '-1')
  call('ZREMRANGEBYRANK', name, at, '-1')
  local entries = {}
  for n, member in ipairs(moved) do entries[2 * n - 1], entries[2 * n] = '0', member end
  call('ZADD', key(kind, moved[1]), unpack(entries))
  call('ZADD', key(kind), '0', moved[1])
end

local function add_to_leaf(kind, leaf, entry)
  if call('ZADD', key(kind, leaf), '0', entry) == 0 then return end
  local count = call('ZCARD', key(kind, leaf))
  if count > LEAF_MAX then split_leaf(kind, leaf, entry, count) end
end

local function add_created(kind, entry)
  local leaf = leaf_of(kind, entry)
  if not leaf then
    leaf = FIRST_LEAF
    call('ZADD', key(kind), '0', leaf)
  end
  add_to_leaf(kind, leaf, entry)
end

-- Returns whether a text precedes another one by their bytes, as in Redis. `<` compares by the locale of the server, in
-- which `a` may precede `B`.
local function is_before(a, b)
  local at = 1
  while byte(a, at) and byte(a, at) == byte(b, at) do at = at + 1 end
  return (byte(a, at) or -1) < (byte(b, at) or -1)
end

-- Sorts entries of one time by their bytes: by the six after the time, as one number, and then by all.
local function sort_entries(entries)
  local ranks = {}
  for _, entry in ipairs(entries) do
    local rank = 0
    for at = 14, 19 do rank = 256 * rank + (byte(entry, at) or 0) end
    ranks[entry] = rank
  end
  table.sort(entries, function(a, b)
    if ranks[a] ~= ranks[b] then return ranks[a] < ranks[b] end
    return is_before(a, b)
  end)
end

-- Adds entries of new items, all of one time, in any order. They are mostly the newest: those after the last entry of
-- the index fill its last leaf, and then new leaves, without a search for each.
local function add_all_created(kind, entries)
  sort_entries(entries)
  local leaf = entries[2] and call('ZREVRANGE', key(kind), '0', '0')[1]
  local last = leaf and (call('ZREVRANGE', key(kind, leaf), '0', '0')[1] or leaf)
  local at = 1
  while entries[at] and not (last and is_before(last, entries[at])) do
    add_created(kind, entries[at])
    at = at + 1
  end
  if not entries[at] then return end
  -- The entries before these may have split the leaf.
  leaf = call('ZREVRANGE', key(kind), '0', '0')[1]
  local room = LEAF_MAX - call('ZCARD', key(kind, leaf))
  while entries[at] do
    if room <= 0 then
      leaf, room = entries[at], LEAF_MAX
      call('ZADD', key(kind), '0', leaf)
    end
    local members, count = {}, 0
    while count < room and entries[at] do
      members[2 * count + 1], members[2 * count + 2] = '0', entries[at]
      at, count = at + 1, count + 1
    end
    call('ZADD', key(kind, leaf), unpack(members))
    room = room - count
  end
end

local function remove_created(kind, entry)
  local leaf = leaf_of(kind, entry)
  if not leaf or call('ZREM', key(kind, leaf), entry) == 0 then return end
  if call('EXISTS', key(kind, leaf)) == 0 then call('ZREM', key(kind), leaf) end
end

-- Moves an item that was closed, or reopened with its original creation time.
local function move_created(id, lane, began, isClosed)
  local entry = created_entry(id, lane, began)
  remove_created(isClosed and KEY.openCreated or KEY.closedCreated, entry)
  add_created(isClosed and KEY.closedCreated or KEY.openCreated, entry)
end

-- Does the same for an item whose lane and creation time have not been read yet.
local function move_created_item(id, isClosed)
  local w = call('HMGET', key(KEY.item, id), ITEM.lane, ITEM.began)
  if w[1] then move_created(id, w[1], w[2], isClosed) end
end

-- Returns two numbers for an entry or the name of a leaf: its time, and the six bytes after the time. If the numbers of
-- two entries differ, the entries have the same order as their numbers.
local function position_of(entry)
  local a, b, c, d, e, f = byte(entry, 14, 19)
  return number(sub(entry, 1, 13)),
    (((((a or 0) * 256 + (b or 0)) * 256 + (c or 0)) * 256 + (d or 0)) * 256 + (e or 0)) * 256 + (f or 0)
end

-- The number of leaves that are compared with an entry before its leaf is searched for.
local COMPARED_LEAVES = 4

-- Returns {leaf -> entries}, and the entries that precede the first leaf. Entries of one batch are mostly in few leaves.
-- So at the second entry of a leaf the next leaf is read, too, and no further entry between the two is searched for.
local function entries_by_leaf(kind, entries)
  local groups, rest, ranges = {}, {}, {}
  for _, entry in ipairs(entries) do
    local time, rank = position_of(entry)
    local leaf
    for at = #ranges, max(#ranges - COMPARED_LEAVES + 1, 1), -1 do
      local range = ranges[at]
      if (time > range[2] or time == range[2] and rank > range[3])
        and (time < range[4] or time == range[4] and rank < range[5]) then
        leaf = range[1]
        break
      end
    end
    local isSearched = not leaf
    if isSearched then leaf = leaf_of(kind, entry) end
    local group = groups[leaf or '']
    if not leaf then
      rest[#rest + 1] = entry
    elseif not group then
      groups[leaf] = { entry }
    else
      group[#group + 1] = entry
      if isSearched and #group == 2 then
        local after = call('ZRANGEBYLEX', key(kind), '(' .. entry, '+', 'LIMIT', '0', '1')[1]
        local first_time, first_rank = position_of(leaf)
        local last_time, last_rank = math.huge, 0
        if after then last_time, last_rank = position_of(after) end
        ranges[#ranges + 1] = { leaf, first_time, first_rank, last_time, last_rank }
      end
    end
  end
  return groups, rest
end

-- Moves entries of items, at most a few hundred, that were closed, or reopened with their original creation times.
local function move_all_created(entries, isClosed)
  local from = isClosed and KEY.openCreated or KEY.closedCreated
  for leaf, members in pairs(entries_by_leaf(from, entries)) do
    local name = key(from, leaf)
    if call('ZREM', name, unpack(members)) > 0 and call('EXISTS', name) == 0 then call('ZREM', key(from), leaf) end
  end
  local to = isClosed and KEY.closedCreated or KEY.openCreated
  local groups, rest = entries_by_leaf(to, entries)
  for leaf, members in pairs(groups) do
    local name = key(to, leaf)
    if not members[2] then
      add_to_leaf(to, leaf, members[1])
    elseif call('ZCARD', name) + #members <= LEAF_MAX then
      local values = {}
      for at, entry in ipairs(members) do values[2 * at - 1], values[2 * at] = '0', entry end
      call('ZADD', name, unpack(values))
    else
      -- Each may split the leaf.
      for _, entry in ipairs(members) do add_created(to, entry) end
    end
  end
  for _, entry in ipairs(rest) do add_created(to, entry) end
end

-- Removes an item from the index, open or closed.
local function remove_created_entries(id, lane, began)
  local entry = created_entry(id, lane, began)
  remove_created(KEY.openCreated, entry)
  remove_created(KEY.closedCreated, entry)
end

-- Does the same for an item that may not exist.
local function remove_created_item(id)
  local w = call('HMGET', key(KEY.item, id), ITEM.lane, ITEM.began)
  if w[1] then remove_created_entries(id, w[1], w[2]) end
end

-- Returns whether lists show an item. Orders and incidents have lists of their own.
local function is_listed(id)
  return not call('ZSCORE', key(KEY.orders), id) and call('SISMEMBER', key(KEY.incidentItems), id) == 0
end

-- Returns whether an item is missing from its leaf.
local function is_missing_in_leaf(id, lane, began, closed)
  local kind, entry = closed and KEY.closedCreated or KEY.openCreated, created_entry(id, lane, began)
  local leaf = leaf_of(kind, entry)
  return not leaf or not call('ZSCORE', key(kind, leaf), entry)
end

-- Restarts a closed item at a time.
local function restart_created(id, lane, began, now)
  remove_created(KEY.closedCreated, created_entry(id, lane, began))
  add_created(KEY.openCreated, created_entry(id, lane, now))
end
