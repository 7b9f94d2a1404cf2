-- Preface of the scripts that read or write the texts of a watch: its notify URLs, its metadata, its secret.
--
-- A short text is in the item itself (ShortText.swift), and is passed to scripts after SHORT.mark. A longer one is
-- among the item's long values. A text is in one of the two.

local FRAGMENTS = SHORT.fragments

-- Returns the full form of a short text.
local function expand(short) return (string.gsub(short, '%c', FRAGMENTS)) end

local function is_short(value) return byte(value) == SHORT.mark end
local function is_long(value) return value ~= '' and not is_short(value) end

-- Returns the notify URLs of an item, or false. `short` is the short form, which was read with the item.
local function notify_of(id, short)
  return short and expand(short) or call('HGET', key(KEY.long, id), LONG.notify)
end

-- Returns the metadata of an item, in the same way.
local function metadata_of(id, short)
  return short and expand(short) or call('HGET', key(KEY.long, id), LONG.metadata)
end

-- Adds a field to the fields to write.
local function add(fields, field, value)
  fields[#fields + 1] = field
  fields[#fields + 1] = value
end

-- Adds a value, if any, to the fields to write of an item, or of its long values.
local function set_text(value, item, field, long, long_field)
  if is_short(value) then
    add(item, field, sub(value, 2))
  elseif value ~= '' then
    add(long, long_field, value)
  end
end

-- Replaces the current value.
local function replace_text(id, value, field, long_field)
  if is_short(value) then
    call('HSET', key(KEY.item, id), field, sub(value, 2))
    call('HDEL', key(KEY.long, id), long_field)
  else
    call('HSET', key(KEY.long, id), long_field, value)
    call('HDEL', key(KEY.item, id), field)
  end
end
