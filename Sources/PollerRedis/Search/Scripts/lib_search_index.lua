-- Preface of the scripts that add items to the search index or remove them from it; follows lib_created_index.lua.
--
-- There are two kinds of entries, which callers pass as one text: fingerprints without spaces, then each word after a
-- space.
--
-- A fingerprint (SearchTerm.swift) is TERM characters. Its first BUCKET name a hash of the partition, in which the rest
-- and the item's id are a field. A word (IndexedWord.swift) is in leaves like those of the index by creation, sorted as
-- `<word> <id>`, so that its prefixes find it. An item keeps its own entries: fingerprints in `ITEM.terms`, words with
-- spaces between in `ITEM.words` and `ITEM.moreWords`. So a script that deletes the item can remove them, even if other
-- metadata are searched by then.
local TERM, BUCKET, TERMS_MAX, WORDS_BYTES = SEARCH.term, SEARCH.bucket, SEARCH.termsMax, SEARCH.wordsBytes

-- Returns the position of a fingerprint among those of an item; nil if it is not there.
local function term_position(terms, term)
  for at = 1, #terms, TERM do
    if sub(terms, at, at + TERM - 1) == term then return at end
  end
end

-- Returns the entry of a word of an item.
local function word_entry(word, id) return word .. ' ' .. id end

-- Calls a function for each fingerprint and each word of a text.
local function each_entry(entries, on_term, on_word)
  local terms, words = match(entries, '^([^ ]*)(.*)$')
  for at = 1, #terms, TERM do on_term(sub(terms, at, at + TERM - 1)) end
  for word in string.gmatch(words, '[^ ]+') do on_word(word) end
end

-- Adds an item under entries, without regard to its record.
local function write_entries(id, entries)
  each_entry(entries, function(term)
    call('HSET', key(KEY.searchBucket, sub(term, 1, BUCKET)), sub(term, BUCKET + 1) .. id, '')
  end, function(word) add_created(KEY.words, word_entry(word, id)) end)
end

-- Adds an item under entries, except those that it has: its terms, words and more words. The caller writes the fields
-- that are added to `values`. Entries that it has already cost nothing, and entries without room are left out.
local function index_item(id, terms, first, more, entries, values)
  if entries == terms then return end
  terms, first, more = terms or '', first or '', more or ''
  local new = { '', '' }
  local function append_word(words, word) return words == '' and word or words .. ' ' .. word end
  each_entry(entries, function(term)
    if term_position(terms, term) or #terms >= TERM * TERMS_MAX then return end
    terms, new[1] = terms .. term, new[1] .. term
  end, function(word)
    if find(' ' .. first .. ' ' .. more .. ' ', ' ' .. word .. ' ', 1, true) then return end
    if #append_word(first, word) <= WORDS_BYTES then
      first = append_word(first, word)
    elseif #append_word(more, word) <= WORDS_BYTES then
      more = append_word(more, word)
    else
      return
    end
    new[2] = new[2] .. ' ' .. word
  end)
  local function add_field(field, value)
    if value ~= '' then
      values[#values + 1] = field
      values[#values + 1] = value
    end
  end
  if new[1] ~= '' then add_field(ITEM.terms, terms) end
  if new[2] ~= '' then
    add_field(ITEM.words, first)
    add_field(ITEM.moreWords, more)
  end
  local texts = new[1] .. new[2]
  if texts ~= '' then write_entries(id, texts) end
end

-- Adds an item under entries. Entries that it has already cost nothing.
local function add_to_index(id, entries)
  local item, values = key(KEY.item, id), {}
  local w = call('HMGET', item, ITEM.terms, ITEM.words, ITEM.moreWords)
  index_item(id, w[1], w[2], w[3], entries, values)
  if #values > 0 then call('HSET', item, unpack(values)) end
end

-- Returns the entries of an item, in the form that callers pass.
local function entries_of(id)
  local w = call('HMGET', key(KEY.item, id), ITEM.terms, ITEM.words, ITEM.moreWords)
  return (w[1] or '') .. (w[2] and ' ' .. w[2] or '') .. (w[3] and ' ' .. w[3] or '')
end

-- Removes an item from the index. The entries are those stored with the item.
local function remove_from_index(id)
  each_entry(entries_of(id), function(term)
    call('HDEL', key(KEY.searchBucket, sub(term, 1, BUCKET)), sub(term, BUCKET + 1) .. id)
  end, function(word) remove_created(KEY.words, word_entry(word, id)) end)
end
