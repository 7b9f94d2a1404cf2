-- Stands before the scripts that open what is closed for the news of a hint: hint.lua, which brings it,
-- and commit.lua, which closes what had news.
--
-- What a hint has told of an open item is kept in it (`ITEM.news`): the letter of HintNews, and the token
-- of the lease during which it came, 0 where nobody held the item. A look that was begun before cannot
-- have seen it; nor can one that does not look at the charge, where the news is of that. It is forgotten
-- once a look has seen it.

-- Of news that came one after the other the gravest is kept.
local GRAVITY = { [HINT.anything] = 1, [HINT.outcome] = 2, [HINT.money] = 3 }

-- Whether news opens an item that is closed for a reason (ClosedReason, HintNews).
--
-- What is remembered of a payment has a fourth value once there was money. An item that is in quarantine
-- because nobody understood the answers about it counts them in the sixth value of its state (WatchRecord);
-- one that has ended its workers has none, and waits for a person.
local MISUNDERSTOOD = '^[^|]*|[^|]*|[^|]*|[^|]*|[^|]*|[1-9]'
local function is_opened_by(news, reason, payment, state)
  if reason == CLOSED.expired or reason == CLOSED.gone then return true end
  if reason == CLOSED.dead then return state and find(state, MISUNDERSTOOD) ~= nil end
  if reason ~= CLOSED.settled and reason ~= CLOSED.reached then return false end
  if not payment or news == HINT.anything then return false end
  return news == HINT.money or not find(payment, '^[^|]*|[^|]*|[^|]*|[^|]')
end

-- Keeps news of an open item, whoever holds it with a token or nobody.
--
-- Where nobody does, the next look sees all that is not of a charge.
local function keep_news(item, news, token)
  if not token and news == HINT.anything then return end
  local known = sub(call('HGET', item, ITEM.news) or '', 1, 1)
  if (GRAVITY[known] or 0) > GRAVITY[news] then news = known end
  call('HSET', item, ITEM.news, news .. (token or '0'))
end

-- Whether the look of a lease may have missed news which opens what it closes with a state; what it has
-- seen is forgotten. `isOfMoney`: it has looked at the money.
local function has_missed_news(item, token, reason, isOfMoney, state)
  local news = call('HGET', item, ITEM.news)
  if not news then return false end
  local kind, isBefore = sub(news, 1, 1), sub(news, 2) ~= token
  local isUnanswered = reason == CLOSED.expired or reason == CLOSED.gone or reason == CLOSED.dead
  local isSeen = isBefore and (isOfMoney or isUnanswered)
  -- Who does not know what the news is does not doubt that the source is gone.
  if reason == CLOSED.gone and kind == HINT.anything then isSeen = true end
  if not isSeen and is_opened_by(kind, reason, call('HGET', item, ITEM.payment), state) then
    return true
  end
  call('HDEL', item, ITEM.news)
  return false
end

-- Forgets news that the look of a lease has seen, which goes on.
local function forget_seen_news(item, token)
  local news = call('HGET', item, ITEM.news)
  if news and sub(news, 2) ~= token then call('HDEL', item, ITEM.news) end
end

-- Opens an item again that ended for a reason, as it was and with the span it had at first: a new run,
-- which remembers the seq that had been recorded before it. One that was in quarantine goes on like any
-- other: nobody has seen how it ends. Its place is the caller's to give.
local function reopen(id, reason, wall)
  local item = key(KEY.item, id)
  local w = call('HMGET', item, ITEM.began, ITEM.deadline, ITEM.run, ITEM.seq, ITEM.lane)
  local span = number(w[2] or 0) - number(w[1] or 0)
  call('HSET', item, ITEM.began, int(wall), ITEM.deadline, int(wall + span),
    ITEM.run, int((w[3] or 1) + 1), ITEM.hinted, int(wall))
  if reason == CLOSED.dead then
    call('HDEL', item, ITEM.reopenedSeq)
  else
    call('HSET', item, ITEM.reopenedSeq, w[4] or 0)
  end
  call('HDEL', item, ITEM.closed, ITEM.hasError, ITEM.crashes, ITEM.news)
  if reason == CLOSED.settled or reason == CLOSED.reached then
    call('HSET', item, ITEM.endedAs, reason)
  else
    call('HDEL', item, ITEM.endedAs)
  end
  call('HDEL', key(KEY.long, id), LONG.error)
  forget_created(id, w[5], w[1])
  add_created(KEY.openCreated, created_entry(id, w[5], wall))
end
