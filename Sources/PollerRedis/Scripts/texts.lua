-- Stands before the scripts that read or write the texts of a watch: its notify URLs, its metadata, its secret.
--
-- A short text is in the item itself (ShortText.swift), and is passed to scripts after SHORT.mark. A longer one is among
-- the item's long values. A text is in one of the two places.

local FRAGMENTS = SHORT.fragments

-- A short text as it was before it was made short.
local function unabridged(short) return (string.gsub(short, '%c', FRAGMENTS)) end

local function is_short(value) return byte(value) == SHORT.mark end
local function is_long(value) return value ~= '' and not is_short(value) end

-- The notify URLs of an item, whose short ones were read with it; false for none.
local function notify_of(id, short)
  return short and unabridged(short) or call('HGET', key(KEY.long, id), LONG.notify)
end

-- The metadata of an item, in the same way.
local function metadata_of(id, short)
  return short and unabridged(short) or call('HGET', key(KEY.long, id), LONG.metadata)
end

-- Adds a field to what is about to be written.
local function add(fields, field, value)
  fields[#fields + 1] = field
  fields[#fields + 1] = value
end

-- Adds a value, where there is one, to what is about to be written of an item, or of its long values.
local function place(value, item, field, long, long_field)
  if is_short(value) then
    add(item, field, sub(value, 2))
  elseif value ~= '' then
    add(long, long_field, value)
  end
end

-- Puts a value in the place of the one that there is.
local function replace(id, value, field, long_field)
  if is_short(value) then
    call('HSET', key(KEY.item, id), field, sub(value, 2))
    call('HDEL', key(KEY.long, id), long_field)
  else
    call('HSET', key(KEY.long, id), long_field, value)
    call('HDEL', key(KEY.item, id), field)
  end
end
