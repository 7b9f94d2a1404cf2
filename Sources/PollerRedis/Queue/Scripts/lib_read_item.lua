-- Preface of the scripts that return whole items; follows lib_compacted_events.lua.

-- Returns all data of an item at this moment; {} for no item. `back` is from clocks().
--
-- The result is {hash, long values, newest event or '', due ms or '', set aside ms or ''}; the first two are flat lists
-- of field and value. It costs six reads, one more for an item that is set aside and two for one without a log.
local function read_item(id, back)
  local w = call('HGETALL', key(KEY.item, id))
  if #w == 0 then return {} end
  local lane, closed
  for at = 1, #w, 2 do
    if w[at] == ITEM.lane then lane = w[at + 1] elseif w[at] == ITEM.closed then closed = w[at + 1] end
  end
  local set_aside_at = closed == CLOSED.dead and call('ZSCORE', key(KEY.quarantine), id)
  local due = call('ZSCORE', key(URGENT, lane), id) or call('ZSCORE', key(NORMAL, lane), id)
  return {
    w,
    call('HGETALL', key(KEY.long, id)),
    call('LINDEX', key(KEY.log, id), -1) or compacted_in(id) or '',
    due and int(due - back) or '',
    set_aside_at or '',
  }
end
