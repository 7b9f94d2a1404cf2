-- Stands before the scripts that put items into the index of searches or take them out of it.
--
-- An entry (SearchTerm.swift) is TERM characters; its first BUCKET name a hash of the partition, in which
-- the rest and the item's id are a field. An item has its entries side by side in `ITEM.terms`, so that
-- it can be taken out again by whoever forgets it, whatever is searched by then.
local TERM, BUCKET, TERMS_MAX = SEARCH.term, SEARCH.bucket, SEARCH.termsMax

-- Where an entry stands among an item's; nil where it does not.
local function place_among(terms, term)
  for at = 1, #terms, TERM do
    if sub(terms, at, at + TERM - 1) == term then return at end
  end
end

-- Puts an item under the entries that are given side by side; those it is under already cost nothing.
local function add_to_index(id, terms)
  local item = key(KEY.item, id)
  local known = call('HGET', item, ITEM.terms) or ''
  local all = known
  for at = 1, #terms, TERM do
    local term = sub(terms, at, at + TERM - 1)
    if not place_among(all, term) and #all < TERM * TERMS_MAX then
      all = all .. term
      call('HSET', key(KEY.searchBucket, sub(term, 1, BUCKET)), sub(term, BUCKET + 1) .. id, '')
    end
  end
  if all ~= known then call('HSET', item, ITEM.terms, all) end
end

-- Takes an item out of the index; its entries are those it was put under.
local function take_from_index(id, terms)
  for at = 1, #terms, TERM do
    local term = sub(terms, at, at + TERM - 1)
    call('HDEL', key(KEY.searchBucket, sub(term, 1, BUCKET)), sub(term, BUCKET + 1) .. id)
  end
end

-- Takes an item from under one entry, if it is there.
local function drop_from_index(id, term)
  local item = key(KEY.item, id)
  local terms = call('HGET', item, ITEM.terms) or ''
  local at = place_among(terms, term)
  if not at then return end
  take_from_index(id, term)
  local rest = sub(terms, 1, at - 1) .. sub(terms, at + TERM)
  if rest == '' then
    call('HDEL', item, ITEM.terms)
  else
    call('HSET', item, ITEM.terms, rest)
  end
end
