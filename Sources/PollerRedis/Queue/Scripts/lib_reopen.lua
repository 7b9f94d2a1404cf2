-- Preface of the scripts that reopen closed items after a hint: hint.lua, which receives the hint, and commit.lua,
-- which closes items that had a hint.
--
-- A hint to an open item is stored in it (`ITEM.pendingHint`): the letter of HintTopic, and the token of the lease during which
-- it came, 0 if the item had no lease. A poll that began before cannot have seen the change. Nor can a poll that does
-- not read the charge, if the change is in the charge. The hint is removed once a poll has covered it.

-- Of several hints, the most important one is kept.
local IMPORTANCE = { [HINT.anything] = 1, [HINT.outcome] = 2, [HINT.money] = 3 }

-- Returns whether a hint reopens an item that is closed for a reason (ClosedReason, HintTopic).
--
-- The stored payment has a fourth value once there was money. An item that is in quarantine because its responses were
-- not understood counts them in the sixth value of its state (WatchRecord). An item that ended its workers has no such
-- value, and waits for an operator.
local UNREADABLE_RESPONSES = '^[^|]*|[^|]*|[^|]*|[^|]*|[^|]*|[1-9]'
local function is_reopened_by(topic, reason, payment, state)
  if reason == CLOSED.expired or reason == CLOSED.gone then return true end
  if reason == CLOSED.dead then return state and find(state, UNREADABLE_RESPONSES) ~= nil end
  if reason ~= CLOSED.settled and reason ~= CLOSED.reached then return false end
  if not payment or topic == HINT.anything then return false end
  return topic == HINT.money or not find(payment, '^[^|]*|[^|]*|[^|]*|[^|]')
end

-- Stores the hint of an open item, with the token of its lease, if any.
--
-- Without a lease, the next poll sees every change that is not in a charge.
local function store_hint(item, topic, token)
  if not token and topic == HINT.anything then return end
  local known = sub(call('HGET', item, ITEM.pendingHint) or '', 1, 1)
  if (IMPORTANCE[known] or 0) > IMPORTANCE[topic] then topic = known end
  call('HSET', item, ITEM.pendingHint, topic .. (token or '0'))
end

-- Returns whether the poll of a lease may have missed a hint that reopens the item in the state and with the payment
-- that it closes with. `hint` is the stored hint or false; a covered one is removed. `hasReadCharge`: the poll has read
-- the charge.
local function has_uncovered_hint(hint, item, token, reason, hasReadCharge, payment, state)
  if not hint then return false end
  local topic, isOlder = sub(hint, 1, 1), sub(hint, 2) ~= token
  local isUnanswered = reason == CLOSED.expired or reason == CLOSED.gone or reason == CLOSED.dead
  local isCovered = isOlder and (hasReadCharge or isUnanswered)
  -- A hint that does not name its topic does not contradict that the source is gone.
  if reason == CLOSED.gone and topic == HINT.anything then isCovered = true end
  if not isCovered and is_reopened_by(topic, reason, payment or call('HGET', item, ITEM.payment), state) then
    return true
  end
  call('HDEL', item, ITEM.pendingHint)
  return false
end

-- Reopens a closed item as it was, with its original span: a new run, which stores the seq recorded before it. An item
-- that was in quarantine continues like any other, because its outcome was never observed. The caller adds it to a
-- schedule.
local function reopen(id, reason, wall)
  local item = key(KEY.item, id)
  local w = call('HMGET', item, ITEM.began, ITEM.deadline, ITEM.run, ITEM.seq, ITEM.lane)
  call('HSET', item, ITEM.began, int(wall), ITEM.deadline, int(wall + span_between(w[1], w[2])),
    ITEM.run, int(bounded(w[3], 1) + 1), ITEM.hinted, int(wall))
  if reason == CLOSED.dead then
    call('HDEL', item, ITEM.reopenedSeq)
  else
    call('HSET', item, ITEM.reopenedSeq, w[4] or 0)
  end
  call('HDEL', item, ITEM.closed, ITEM.hasError, ITEM.crashes, ITEM.pendingHint)
  if reason == CLOSED.settled or reason == CLOSED.reached then
    call('HSET', item, ITEM.endedAs, reason)
  else
    call('HDEL', item, ITEM.endedAs)
  end
  redis.pcall('HDEL', key(KEY.long, id), LONG.error)
  remove_created_entries(id, w[5], w[1])
  add_created(KEY.openCreated, created_entry(id, w[5], wall))
end
