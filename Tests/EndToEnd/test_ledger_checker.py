"""Tests that the ledger checker detects every kind of false statement; otherwise its success means nothing."""

from dataclasses import replace

import pytest

from harness.ledger import Entry, Ledger, Truth, entries
from harness.ledger_checker import LedgerChecker
from harness.statements import Statement, of_event, of_watch

PAID = {"id": "ch_1", "status": "succeeded", "amount": 1099, "amount_captured": 1099, "captured": True}
REFUND = {"id": "re_1", "charge": "ch_1", "amount": 99, "status": "succeeded"}
SOURCE = {"object": "source", "type": "ideal", "usage": "single_use", "amount": 1099}


def story(*steps: tuple[float, str, dict]) -> Ledger:
    return Ledger(Entry("src_1", kind, facts, at_ms) for at_ms, kind, facts in steps)


def source(status: str, **more) -> dict:
    return SOURCE | {"status": status} | more


# A typical payment: created at 1,000, authorised at 2,000, charged at 3,000.
BOUGHT = (
    (1000, "object", source("pending")),
    (2000, "object", source("chargeable")),
    (3000, "charge", PAID),
    (3001, "object", {"status": "consumed"}),
)


def pushed(word: str, seen_ms: float, number: int = 1, channel: str = "webhook", **sums) -> Statement:
    """Returns a statement that arrives five seconds after its poll."""
    return Statement(channel, "src_1", frozenset({word}), seen_ms + 5000, seen_ms, f"evt_{number}", **sums)


def shown(word: str, told_ms: float) -> Statement:
    return Statement("page", "src_1", frozenset({word}), told_ms)


def checked(ledger: Ledger, *statements: Statement, **options) -> LedgerChecker:
    checker = LedgerChecker(ledger, look_ms=500, stale_ms=500, **options)
    checker.hear(statements)
    return checker


HONEST = (
    pushed("awaiting_customer", 1100, 1),
    pushed("authorised", 2100, 2),
    pushed("paid", 3100, 3, received=1099, returned=0),
)


def test_a_true_history_of_statements_passes():
    checker = checked(story(*BOUGHT), *HONEST)
    checker.ended(["webhook"])
    checker.verdict()
    # Each state was true at its poll, although not at its arrival.
    assert checked(story(*BOUGHT), pushed("awaiting_customer", 1400)).counts == {}


@pytest.mark.parametrize(
    "lie",
    [
        # The money came after the poll, although before the webhook arrived.
        pushed("paid", 2000),
        # Neither an authorised nor a consumed source is money.
        pushed("paid", 2200),
        # After the payment, `authorised` is no longer true.
        pushed("authorised", 3600),
        pushed("failed", 2100),
        pushed("paid", 3100, received=1000, returned=0),
        pushed("paid", 3100, received=1099, returned=1099),
        shown("awaiting_customer", 2600),
        shown("paid", 2900),
        Statement("webhook", "src_2", frozenset({"paid"}), 9000, 3100, "evt_1"),
    ],
    ids=str,
)
def test_a_false_statement_is_detected(lie: Statement):
    checker = checked(story(*BOUGHT), lie)
    assert checker.counts == {"false": 1}
    with pytest.raises(AssertionError, match="1 violations"):
        checker.verdict()


def test_a_payment_state_reported_too_early_is_detected():
    early = Statement("webhook", "src_1", frozenset({"paid"}), 2950, 2800, "evt_1")
    assert checked(story(*BOUGHT), early).counts == {"false": 1}
    assert checked(story(*BOUGHT), replace(early, told_ms=3050)).counts == {}


def test_an_unchanged_payment_state_in_an_event_may_be_one_poll_old():
    event = recorded(4, "source.consumed", "authorised")
    assert checked(story(*BOUGHT), of_event(event, 9000), carried_ms=0).counts == {"false": 1}
    assert checked(story(*BOUGHT), of_event(event, 9000), carried_ms=500).counts == {}
    news = event | {"type": "payment.authorised"}
    assert checked(story(*BOUGHT), of_event(news, 9000), carried_ms=500).counts == {"false": 1}


def test_a_page_may_lag_within_its_limit():
    assert checked(story(*BOUGHT), shown("awaiting_customer", 2400)).counts == {}
    assert checked(story(*BOUGHT), shown("authorised", 3700)).counts == {"false": 1}


@pytest.mark.parametrize(
    "more, truth",
    [
        ([("charge", PAID | {"amount_refunded": 99})], Truth("partially_refunded", 1099, 99)),
        ([("charge", PAID | {"amount_refunded": 1099})], Truth("refunded", 1099, 1099)),
        # A failed refund returns the money to the charge.
        (
            [("charge", PAID | {"amount_refunded": 1099}), ("charge", PAID | {"amount_refunded": 0})],
            Truth("paid", 1099),
        ),
        (
            [("charge", PAID | {"amount_refunded": 99}), ("refund", REFUND), ("refund", REFUND | {"status": "failed"})],
            Truth("paid", 1099),
        ),
        ([("dispute", {"id": "dp_1", "charge": "ch_1", "status": "needs_response"})], Truth("disputed", 1099)),
        ([("dispute", {"id": "dp_1", "charge": "ch_1", "status": "warning_needs_response"})], Truth("paid", 1099)),
        (
            [("dispute", {"id": "dp_1", "charge": "ch_1", "status": "lost", "amount": 500})],
            Truth("partially_refunded", 1099, 500),
        ),
        ([("dispute", {"id": "dp_1", "charge": "ch_1", "status": "lost"})], Truth("reversed", 1099, 1099)),
        (
            [("dispute", {"id": "dp_1", "charge": "ch_1", "status": "lost", "amount": 1090})],
            Truth("reversed", 1099, 1090),
        ),
        # The shop can still answer the second dispute.
        (
            [
                ("dispute", {"id": "dp_1", "charge": "ch_1", "status": "lost", "amount": 500}),
                ("dispute", {"id": "dp_2", "charge": "ch_1", "status": "needs_response", "amount": 99}),
            ],
            Truth("disputed", 1099),
        ),
        (
            [
                ("dispute", {"id": "dp_1", "charge": "ch_1", "status": "needs_response"}),
                ("dispute", {"id": "dp_1", "charge": "ch_1", "status": "won"}),
            ],
            Truth("paid", 1099),
        ),
        # The bank took the money back: the charge fails after it had succeeded.
        ([("charge", {"id": "ch_1", "status": "failed"})], Truth("reversed", 1099, 1099)),
        # Later changes of the object do not matter.
        ([("object", {"status": "failed"})], Truth("paid", 1099)),
        # A failed attempt next to a successful charge changes nothing.
        ([("charge", {"id": "ch_2", "status": "failed"})], Truth("paid", 1099)),
    ],
    ids=lambda value: value.word if isinstance(value, Truth) else "",
)
def test_refunds_and_disputes_after_a_success_become_true_states(more: list, truth: Truth):
    ledger = story(*BOUGHT, *((4000 + n, kind, facts) for n, (kind, facts) in enumerate(more)))
    assert ledger.last("src_1") == {truth}
    checker = checked(ledger, pushed(truth.word, 5000, received=truth.received, returned=truth.returned))
    checker.ended(["webhook"])
    checker.verdict()


def test_a_refund_that_fails_leaves_its_money_with_the_charge_once():
    both = PAID | {"amount_refunded": 1099, "refunded": True}
    failed, other = REFUND | {"status": "failed"}, REFUND | {"id": "re_2", "amount": 1000}
    steps = [("charge", both), ("refund", REFUND), ("refund", other)]
    for more, truth in (
        # Stripe sends several events about one failed refund.
        ([failed, failed, failed], Truth("partially_refunded", 1099, 1000)),
        ([failed, other | {"status": "canceled"}], Truth("paid", 1099)),
        ([failed, REFUND], Truth("refunded", 1099, 1099)),
    ):
        told = enumerate([*steps, *(("refund", refund) for refund in more)])
        assert story(*BOUGHT, *((4000 + n, kind, facts) for n, (kind, facts) in told)).last("src_1") == {truth}
    # A later version of the charge already includes the failed refund.
    later = [("charge", both), ("refund", failed), ("charge", PAID | {"amount_refunded": 1000})]
    ledger = story(*BOUGHT, *((4000 + n, kind, facts) for n, (kind, facts) in enumerate(later)))
    assert ledger.last("src_1") == {Truth("partially_refunded", 1099, 1000)}


INTENT = {"object": "payment_intent", "amount": 2000}


@pytest.mark.parametrize(
    "steps, word",
    [
        ([("object", source("pending"))], "awaiting_customer"),
        ([("object", source("pending")), ("transfer", {"amount": 400})], "partially_paid"),
        ([("object", source("pending")), ("transfer", {"amount": 1099})], "processing"),
        ([("object", source("chargeable")), ("transfer", {"amount": 400})], "partially_paid"),
        ([("object", source("chargeable"))], "authorised"),
        # The source is consumed but nothing was charged, so it is not paid.
        ([("object", source("consumed"))], "processing"),
        ([("object", source("consumed", usage="reusable"))], "processing"),
        # Detached from its customer, which the source no longer names.
        (
            [
                ("object", source("chargeable", usage="reusable") | {"customer": "cus_1"}),
                ("object", source("consumed", usage="reusable") | {"customer": None}),
            ],
            "unknown",
        ),
        ([("object", source("failed"))], "failed"),
        ([("object", source("canceled"))], "expired"),
        ([("object", source("consumed")), ("charge", {"id": "ch_1", "status": "pending", "amount": 9})], "processing"),
        ([("object", source("consumed")), ("charge", {"id": "ch_1", "status": "failed"})], "failed"),
        ([("charge", PAID | {"captured": False, "amount_captured": 0})], "authorised"),
        ([("charge", PAID | {"captured": False, "amount_captured": 0, "refunded": True})], "cancelled"),
        (
            [("charge", PAID | {"captured": False, "amount_captured": 0, "expired": True})],
            "expired",
        ),
        ([("charge", PAID | {"captured": False, "amount_captured": 400})], "partially_paid"),
        ([("object", INTENT | {"status": "requires_payment_method"})], "awaiting_customer"),
        ([("object", INTENT | {"status": "requires_payment_method", "last_payment_error": {}})], "awaiting_customer"),
        ([("object", INTENT | {"status": "requires_payment_method", "last_payment_error": {"code": "x"}})], "failed"),
        # A failed charge no longer counts once the customer tries again.
        ([("object", INTENT | {"status": "requires_action"}), ("charge", {"id": "ch_1", "status": "failed"})], "awaiting_customer"),
        ([("object", INTENT | {"status": "succeeded"})], "unknown"),
        ([("object", {"object": "setup_intent", "status": "succeeded"})], "authorised"),
        ([("object", INTENT | {"status": "canceled", "cancellation_reason": "duplicate"})], "cancelled"),
        ([("object", INTENT | {"status": "canceled", "cancellation_reason": "abandoned"})], "expired"),
    ],
)
def test_statuses_before_a_payment_become_true_states(steps: list, word: str):
    ledger = story(*((1000 * n, kind, facts) for n, (kind, facts) in enumerate(steps, 1)))
    assert {truth.word for truth in ledger.last("src_1")} == {word}


def test_a_reusable_source_is_authorised_for_its_next_order():
    card = source("chargeable", usage="reusable")
    ledger = story((1, "object", card), (2, "charge", PAID), (3, "charge", {"id": "ch_2", "status": "failed"}))
    assert ledger.last("src_1") == {Truth("paid", 1099), Truth("authorised")}
    assert checked(ledger, pushed("failed", 5000)).counts == {"false": 1}


def test_an_uncaptured_part_of_a_hold_was_never_paid():
    part = PAID | {"amount_captured": 700, "amount_refunded": 0}
    assert story((1, "charge", part)).last("src_1") == {Truth("paid", 700)}
    assert story((1, "charge", part | {"amount_refunded": 399})).last("src_1") == {Truth("partially_refunded", 700, 399)}
    assert story((1, "charge", part | {"amount_refunded": 700})).last("src_1") == {Truth("refunded", 700, 700)}


def test_an_undelivered_final_payment_state_is_detected():
    refunded = (9000, "charge", PAID | {"amount_refunded": 1099, "refunded": True})
    checker = checked(story(*BOUGHT, refunded), *HONEST)
    checker.ended(["webhook", "mail"])
    assert checker.counts == {"untold": 2}
    assert "last truth is refunded" in checker.violations[0]


def test_a_payment_state_reported_twice_is_detected():
    assert checked(story(*BOUGHT), HONEST[2], HONEST[2]).counts == {"doubled": 1}
    twice = [pushed("paid", 3100 + n, n, "mail") for n in (1, 2)]
    assert checked(story(*BOUGHT), *twice).counts == {"doubled": 1}
    # After a crash in mid-attempt the same event may arrive again, but another mail may not.
    checker = LedgerChecker(story(*BOUGHT))
    checker.hear([HONEST[2], HONEST[2]], doubles=True)
    assert checker.counts == {}


def test_a_recurring_payment_state_is_not_a_duplicate():
    disputed = [
        (at_ms, "dispute", {"id": "dp_1", "charge": "ch_1", "status": status})
        for at_ms, status in ((4000, "needs_response"), (6000, "won"))
    ]
    again = pushed("paid", 3100, 1, "mail"), pushed("paid", 6100, 2, "mail")
    assert checked(story(*BOUGHT, *disputed), *again).counts == {}
    assert checked(story(*BOUGHT), *again).counts == {"doubled": 1}


def test_an_order_charged_twice_is_detected():
    other = PAID | {"id": "ch_2", "metadata": {"order": "7"}}
    ledger = story(*BOUGHT[:2], (3000, "charge", PAID | {"metadata": {"order": "7"}}), (3100, "charge", other))
    checker = checked(ledger, pushed("paid", 4000))
    checker.ended(["webhook"])
    checker.charged_once()
    assert checker.counts == {"charged_twice": 1} and "7: charged 2 times" in checker.violations[0]
    # Two orders on one source are allowed, and so is a refunded charge.
    for harmless in (other | {"metadata": {"order": "8"}}, other | {"amount_refunded": 1099}):
        ledger = story(*BOUGHT[:2], (3000, "charge", PAID | {"metadata": {"order": "7"}}), (3100, "charge", harmless))
        assert all(len(charges) == 1 for charges in ledger.money_by_order().values())


def test_with_a_changed_clock_only_the_order_of_states_is_checked():
    honest = [pushed(word, 50, n) for n, word in enumerate(("awaiting_customer", "authorised", "paid"))]
    assert checked(story(*BOUGHT), *honest, by_time=False).counts == {}
    assert checked(story(*BOUGHT), *honest[::2], by_time=False).counts == {}
    assert checked(story(*BOUGHT), honest[2], honest[1], by_time=False).counts == {"false": 1}
    assert checked(story(*BOUGHT), pushed("refunded", 50), by_time=False).counts == {"false": 1}


def recorded(number: int, type: str, word: str, received: int = 0) -> dict:
    return {
        "id": f"evt_{number}", "type": type, "source": "src_1",
        "payment": {"state": word, "amount_received": received},
        "observed": {"polled_at": "1970-01-01T00:00:03.100Z"},
    }


def test_each_change_of_a_payment_is_one_event():
    told = [
        recorded(1, "payment.authorised", "authorised"), recorded(2, "source.chargeable", "authorised"),
        recorded(3, "payment.paid", "paid", 1099), recorded(4, "source.consumed", "paid", 1099),
    ]

    def counts(events: list[dict]) -> dict:
        checker = LedgerChecker(story(*BOUGHT))
        checker.told_once({"src_1": events})
        return checker.counts

    assert counts(told) == {}
    assert counts([*told, recorded(5, "payment.paid", "paid", 1099)]) == {"doubled": 1}
    assert counts([told[0], told[3]]) == {"untold": 1}
    assert counts([*told, recorded(5, "payment.paid", "refunded", 1099)]) == {"false": 1}


def test_events_and_answers_are_read_as_statements():
    said = of_event(recorded(3, "payment.paid", "paid", 1099), told_ms=9000)
    assert (said.seen_ms, said.claims, said.received, said.returned) == (3100, {"paid"}, 1099, 0)
    assert checked(story(*BOUGHT), said).counts == {}
    assert of_event({"id": "evt_1", "source": "src_1"}, 9000) is None
    answer = of_watch({"source": "src_1", "payment": {"state": "paid", "amount_received": 1}}, 3200)
    assert checked(story(*BOUGHT), answer).counts == {"false": 1}


def test_events_of_stripe_become_a_ledger():
    changes = [
        {"source": "src_1", "status": status, "at_ms": at_ms}
        for status, at_ms in (("pending", 10_500), ("chargeable", 10_700), ("consumed", 10_901))
    ]
    charge = PAID | {"object": "charge", "source": {"id": "src_1"}, "amount_refunded": 0}
    refund = REFUND | {"object": "refund", "amount": 1099}
    events = [
        {"type": "source.chargeable", "created": 10, "data": {"object": {"id": "src_1"} | SOURCE}},
        {"type": "charge.succeeded", "created": 10, "data": {"object": charge}},
        {"type": "customer.updated", "created": 10, "data": {"object": {"object": "customer"}}},
        {"type": "charge.refunded", "created": 20, "data": {"object": charge | {"amount_refunded": 1099}}},
        {"type": "refund.failed", "created": 25, "data": {"object": refund | {"status": "failed"}}},
        {
            "type": "charge.dispute.created", "created": 30,
            "data": {"object": {"id": "dp_1", "object": "dispute", "charge": "ch_1", "status": "lost"}},
        },
    ]
    objects = [{"id": "src_1"} | SOURCE]
    ledger = Ledger(entries(events, changes, objects))
    # Stripe's events have whole seconds: within the second both states are accepted, after it only one.
    for word, seen_ms, lies in (
        ("authorised", 10_750, 0), ("paid", 10_750, 0), ("paid", 11_500, 0), ("authorised", 12_100, 1),
        ("paid", 21_500, 1), ("refunded", 21_500, 0), ("paid", 26_500, 0), ("refunded", 26_500, 1),
        ("refunded", 31_500, 1), ("reversed", 31_500, 0),
    ):
        assert checked(ledger, pushed(word, seen_ms)).counts.total() == lies, (word, seen_ms)
    # The sandbox's events have milliseconds.
    exact = [
        {"type": event["type"], "at_ms": event["created"] * 1000 + 901, "object": event["data"]["object"]}
        for event in events
    ]
    for word, seen_ms, lies in (("authorised", 10_750, 0), ("paid", 10_350, 1), ("paid", 10_950, 0), ("refunded", 20_300, 1)):
        assert checked(Ledger(entries(exact, changes, objects)), pushed(word, seen_ms)).counts.total() == lies, (word, seen_ms)
