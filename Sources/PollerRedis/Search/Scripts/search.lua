#!lua flags=no-writes
-- Pages through the items under an entry of the search index.
--
-- A bucket is read in its smallest parts. A part that is read again from its position has the same items unless they
-- were added or removed, or Redis has resized the hash. So a page may end between two items of a part.
--
-- KEYS[1]  meta key of the partition
-- ARGV     entry: a fingerprint, or a space and a prefix of a word (a whole word has a space after it); position ('0'
--          at the start), about how many to read, accounts, each between spaces, or '' for all: items of other accounts
--          are left out here, so that no response takes longer for them; entries separated by line breaks: items under
--          one of them are left out, because the search for that entry returns them
-- RETURNS  {position of the remaining entries, or '0' when there are none, how many entries were read, match, …}; no
--          match of a partition that is being filled. A match among words is its entry: the word, a space and the id.
--          In a bucket it is the id, the position of its part and the position after the part, between spaces
-- USES     lib_created_index
-- COST     O(size of the bucket), which is small, or as many commands as items where one entry has many; for words one
--          command per leaf of a hundred, and for prefixes one read per entry; with accounts, and with entries that
--          others return, one read per match
if stage == STAGE.filling then return { '0', '0' } end
local term, position, limit, accounts, other_entries = ARGV[1], ARGV[2], number(ARGV[3]), ARGV[4], ARGV[5] or ''
local reply = { '0', '0' }

-- The position after an entry of a word is the entry, in hexadecimal digits: it may have any character.
local function from_hex(digits)
  return (string.gsub(digits, '%x%x', function(pair) return string.char(tonumber(pair, 16)) end))
end
local function to_hex(entry)
  return (string.gsub(entry, '.', function(char) return format('%02x', byte(char)) end))
end

-- Returns whether a text of fingerprints contains one.
local function has_term(terms, wanted)
  for at = 1, #terms, SEARCH.term do
    if sub(terms, at, at + SEARCH.term - 1) == wanted then return true end
  end
  return false
end

-- Returns whether this search returns an item, so that the item is found once. Items under one of the other entries are
-- left out. If several words of an item have the prefix, it is returned for the first of them.
local function is_match(id, word, prefix)
  if not item_is_in_accounts(accounts, id) then return false end
  if other_entries == '' and not prefix then return true end
  local w = call('HMGET', key(KEY.item, id), ITEM.terms, ITEM.words, ITEM.moreWords)
  local terms, words = w[1] or '', ' ' .. (w[2] or '') .. ' ' .. (w[3] or '') .. ' '
  for other in string.gmatch(other_entries, '[^\n]+') do
    if sub(other, 1, 1) == ' ' then
      if find(words, other, 1, true) then return false end
    elseif has_term(terms, other) then
      return false
    end
  end
  if not prefix then return true end
  for other in string.gmatch(words, '[^ ]+') do
    if sub(other, 1, #prefix) == prefix then return other == word end
  end
  return true
end

if sub(term, 1, 1) == ' ' then
  local prefix = sub(term, 2)
  local isWhole = sub(prefix, -1) == ' '
  local remaining, last = limit, position ~= '0' and from_hex(position)
  local from, to = last and '(' .. last or '[' .. prefix, '(' .. prefix .. '\255'
  local leaf = leaf_of(KEY.words, last or prefix) or call('ZRANGE', key(KEY.words), '0', '0')[1]
  while leaf do
    for _, entry in ipairs(call('ZRANGEBYLEX', key(KEY.words, leaf), from, to, 'LIMIT', '0', int(remaining))) do
      remaining, last = remaining - 1, entry
      local word, id = match(entry, '^([^ ]*) ([^ ]*)$')
      if is_match(id, word, not isWhole and prefix) then reply[#reply + 1] = entry end
    end
    reply[2] = int(limit - remaining)
    if remaining <= 0 then
      reply[1] = to_hex(last)
      return reply
    end
    leaf = call('ZRANGEBYLEX', key(KEY.words), '(' .. leaf, to, 'LIMIT', '0', '1')[1]
  end
  return reply
end

-- A position among words is not valid in a bucket.
if not match(position, '^%d+$') then position = '0' end
local bucket, pattern = key(KEY.searchBucket, sub(term, 1, SEARCH.bucket)), sub(term, SEARCH.bucket + 1) .. '*'
local read = 0
for _ = 1, limit do
  local found = call('HSCAN', bucket, position, 'MATCH', pattern, 'COUNT', '1')
  for at = 1, #found[2], 2 do
    local id = sub(found[2][at], SEARCH.term - SEARCH.bucket + 1)
    read = read + 1
    if is_match(id) then reply[#reply + 1] = id .. ' ' .. position .. ' ' .. found[1] end
  end
  position = found[1]
  if position == '0' then break end
end
reply[1], reply[2] = position, int(read)
return reply
