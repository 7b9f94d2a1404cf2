"""Tests failures between a customer's click and the money that other projects have reported.

|  # | failure in other projects                                   | our test |
|----|-------------------------------------------------------------|----------|
|  1 | webhooks in the wrong order leave an old status             | here; test_stripe_hints; test_money_out_of_sight |
|  2 | of two events in the same second the newer one is lost      | here |
|  3 | return, webhook and poll race: two emails, two charges      | here |
|  4 | webhooks are lost: a paid payment stays pending             | test_stripe_hints |
|  5 | the charge comes too late, or never because of a downtime   | test_payment_windows |
|  6 | the same event arrives twice, or twice at the same time     | test_stripe_hints |
|  7 | after a 429 the client neither waits nor slows down         | here; StripeUpstreamTests; SourcePollStateTests |
|  8 | `lock_timeout` of one object is shown as a failed payment   | here |
|  9 | the webhook arrives before the local record exists          | test_stripe_hints |
| 10 | the customer never pays: the page says "processing" forever | test_payment_windows |
| 11 | a network or server error is treated as a decline           | here; test_money_out_of_sight |
| 12 | missed changes are never reconciled                         | test_stripe_hints |
| 13 | payloads are trusted instead of read from Stripe            | test_stripe_hints |
| 14 | signatures of re-serialised bodies, replayed webhooks       | WebhookSignatureTests |
| 15 | one idempotency key for two orders, or two for one order    | here; test_charging |

*Sources*: laravel/cashier-stripe#1201, stripe/sync-engine#268, woocommerce-gateway-stripe#542 and #1302,
exercism/website#2518, stripe-ios#629, stripe-java#389 and similar reports.
"""

import threading
from contextlib import contextmanager

import pytest
from harness.cluster import Cluster
from harness.poller_api import PollerAPI
from harness.sandbox import Sandbox
from harness.shop import Sale, check_words, with_webhooks
from harness.waiting import wait_until
from test_stripe_hints import post

WHOLE = ["source.pending", "source.chargeable", "charge.succeeded", "source.consumed"]
WORDS = ["payment.authorised", "payment.paid"]


@pytest.fixture(scope="module")
def shop():
    """Starts a cluster without an event sweep, so webhooks are the only hints."""
    with Cluster(workers=2, notifiers=2, listen=False, env={"POLLER_STRIPE_SWEEP": "off"}) as cluster:
        yield with_webhooks(cluster)


def taken(shop: Cluster) -> float:
    """Returns the number of Stripe webhooks that were answered."""
    return shop.taker.metric("poller_stripe_webhooks_total")


def about(shop: Cluster, sale: Sale) -> list[dict]:
    """Returns Stripe's events about a source and its charges, newest first."""
    listed = shop.sandbox._stripe("GET", "/v1/events?limit=100")["data"]

    def concerns(thing: dict) -> bool:
        return thing["id"] == sale.id or (thing.get("source") or {}).get("id") == sale.id

    return [event for event in listed if concerns(event["data"]["object"])]


# A patient watch is polled once and then not for half a minute. An earlier change is known from a hint.
HINTED_S = 26


def test_webhooks_in_the_wrong_order_end_at_the_current_state(shop: Cluster):
    """1: the newest event arrives first. The checks run after the last event has arrived."""
    sale = Sale(shop, policy="patient", notify=shop.notify).pending()
    held = shop.sandbox._call("POST", "/_sandbox/webhooks/faults", json={"mode": "hold"})["id"]
    before = taken(shop)
    shop.sandbox.authorise(sale.id)
    charge = shop.sandbox.charge(sale.id)
    shop.sandbox._stripe("POST", "/v1/refunds", {"charge": charge["id"], "amount": 99})
    told = about(shop, sale)
    assert {event["type"] for event in told} >= {"source.chargeable", "charge.succeeded", "charge.refunded"}
    shop.sandbox._call("DELETE", f"/_sandbox/webhooks/faults/{held}")
    wait_until(lambda: taken(shop) >= before + len(told), 60, "the last held event was accepted")
    assert sale.closed(timeout_s=HINTED_S)["status"] == "consumed"
    assert sale.told() == ["source.pending", "source.consumed"]
    assert sale.words() == ["payment.partially_refunded"], "only the state at the poll"
    assert len(shop.sandbox.polls(sale.id)) < 2 + len(told), "each event caused at most one poll"
    sale.check_deliveries()
    check_words(shop, [sale])


@contextmanager
def only_posted_events(shop: Cluster):
    """Drops the sandbox's webhooks, so that the only events are those that a test posts."""
    lost = shop.sandbox._call("POST", "/_sandbox/webhooks/faults", json={"mode": "drop"})["id"]
    try:
        yield
    finally:
        shop.sandbox._call("DELETE", f"/_sandbox/webhooks/faults/{lost}")


def tell(shop: Cluster, sale: Sale, type: str, **fields) -> dict:
    """Posts the newest event of a type about a sale, as Stripe would, and checks that it counts as new."""
    event = next(event for event in about(shop, sale) if event["type"] == type) | fields
    assert post(shop, event).json()["result"] == "accepted"
    return event


def test_two_changes_in_one_second_are_both_reported(shop: Cluster):
    """2: the second event has the timestamp of the first, whose poll ran before the second event arrived."""
    with only_posted_events(shop):
        sale = Sale(shop, policy="patient", notify=shop.notify).pending()
        shop.sandbox.authorise(sale.id)
        first = tell(shop, sale, "source.chargeable")
        shop.wait_status(sale.id, "chargeable", timeout_s=HINTED_S)
        shop.sandbox.charge(sale.id)
        # Polls are more frequent after a change, so the second change would be found without its hint as well.
        tell(shop, sale, "charge.succeeded", created=first["created"])
        sale.closed(timeout_s=HINTED_S)
    assert sale.told() == ["source.pending", "source.chargeable", "source.consumed"]
    sale.check_deliveries()
    check_words(shop, [sale])


def test_two_changes_of_one_object_in_one_second_are_both_reported(shop: Cluster):
    """2: two refunds of one charge in the same second. The watch is closed, so only the event reveals the second."""
    with only_posted_events(shop):
        sale = Sale(shop, charge=True, notify=shop.notify).pending()
        shop.sandbox.authorise(sale.id)
        sale.closed()
        (charge,) = sale.charges()
        moment = {}
        for amount, word in ((99, "payment.partially_refunded"), (1000, "payment.refunded")):
            shop.sandbox._stripe("POST", "/v1/refunds", {"charge": charge["id"], "amount": amount})
            moment = {"created": tell(shop, sale, "charge.refunded", **moment)["created"]}
            wait_until(lambda: sale.words()[-1] == word, 60, f"{word} is reported")
    assert sale.words() == [*WORDS, "payment.partially_refunded", "payment.refunded"]
    sale.check_deliveries()
    check_words(shop, [sale])


def test_a_race_of_return_webhook_and_poll_reports_each_change_once(shop: Cluster):
    """3: the customer's return, Stripe's webhook and our own poll happen at the same moment."""
    sales = [Sale(shop, charge={"metadata": {"order": str(n)}}, notify=shop.notify) for n in range(12)]
    for sale in sales:
        sale.pending()
    gate = threading.Barrier(5 * len(sales))
    failures: list[BaseException] = []

    def at_once(act, *arguments) -> threading.Thread:
        def run() -> None:
            try:
                gate.wait(60)
                act(*arguments)
            except BaseException as failure:
                failures.append(failure)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def poll(sale: Sale) -> None:
        asked = PollerAPI(shop.api.url).request("POST", f"/v1/watches/{sale.id}/poll")
        # 409: the watch is already closed.
        assert asked.status_code in (202, 409), asked.text

    def authorise(sale: Sale) -> None:
        # Authorising on the bank's page sends the webhook too.
        Sandbox(shop.sandbox.url).authorise(sale.id)

    threads = [
        at_once(act, sale)
        for sale in sales
        for act in (authorise, Sale.come_back, Sale.come_back, poll, poll)
    ]
    for thread in threads:
        thread.join(60)
    assert not failures, failures[:3]
    for sale in sales:
        # The second half of the race: requests arrive while the source is being charged.
        sale.come_back()
    for sale in sales:
        sale.closed()
        assert sale.told() == WHOLE and sale.words() == WORDS
        (charge,) = sale.charges()
        assert charge["metadata"]["poller_source"] == sale.id
        assert sale.come_back() == "confirmed"
        sale.check_deliveries()
        # One email for the authorisation and one for the confirmation.
        assert len(sale.mails()) == 2, [mail["Subject"] for mail in sale.mails()]
    check_words(shop, sales)


LOCK = {
    "mode": "status", "status": 429, "headers": {"Stripe-Should-Retry": "true"},
    "body": {"error": {"type": "invalid_request_error", "code": "lock_timeout", "message": "Locked."}},
}


def test_only_a_locked_object_waits_and_no_failure_is_reported(shop: Cluster):
    """8: another request holds the object's lock. This is no failure of the payment and delays no other payment."""
    locked, free = (Sale(shop, charge=True, notify=shop.notify).pending() for _ in range(2))
    lock = shop.sandbox._call("POST", "/_sandbox/locks", json={"id": locked.id, "reads": True})
    assert lock is not None
    for sale in (locked, free):
        shop.sandbox.authorise(sale.id)
    free.closed()
    answered = wait_until(
        lambda: [it for it in shop.sandbox.polls(locked.id) if it["status"] == 429], 60, "asked and refused"
    )
    assert answered and shop.api.watch(locked.id)["state"] == "open"
    # Stripe did not report a rate limit, so other sources are polled at the full rate.
    lanes = {lane["id"]: lane for lane in shop.api.get("/v1/lanes")["data"]}
    assert lanes["default/sources"]["factor"] == 1 and not lanes["default/sources"]["held_until"]
    assert locked.told() == ["source.pending"] and locked.come_back() in ("confirming", "waiting", "action")
    # The charge of the locked source meets the lock too.
    fault = shop.sandbox.fault(**LOCK, match="/v1/charges", method="POST", times=3)
    shop.sandbox._call("DELETE", f"/_sandbox/locks/{locked.id}")
    locked.closed()
    assert fault and locked.told() == WHOLE and len(locked.charges()) == 1
    for sale in (locked, free):
        assert sale.words() == WORDS
        sale.check_deliveries()
        assert len(sale.mails()) == 2
    check_words(shop, [locked, free])


# Errors of a charge request that are no answer of the bank.
ERRORS = {
    "500": {"mode": "status", "status": 500, "body": {"error": {"type": "api_error", "message": "Oops."}}},
    "503": {"mode": "status", "status": 503, "body": "<html>busy</html>"},
    "429": {"mode": "status", "status": 429, "body": {"error": {"type": "invalid_request_error", "code": "rate_limit"}}},
    "409": {"mode": "status", "status": 409, "body": {"error": {"type": "idempotency_error", "code": "idempotency_key_in_use"}}},
    "reset": {"mode": "reset"},
    "lost answer": {"mode": "reset", "after": True},
    "half an answer": {"mode": "truncated", "after": True},
    "no JSON": {"mode": "html", "after": True},
    "another type": {"mode": "wrong_type", "after": True},
    "402 without a word": {"mode": "status", "status": 402, "body": "<html>Payment required</html>"},
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_an_error_while_charging_is_never_reported_as_a_decline(shop: Cluster, error: dict):
    """11: only the bank can decline. After any other error the customer is not asked to pay again."""
    sale = Sale(shop, charge=True, notify=shop.notify).pending()
    fault = shop.sandbox.fault(**error, match="/v1/charges", method="POST", times=2)
    shop.sandbox.authorise(sale.id)
    sale.closed()
    assert fault and sale.told() == WHOLE and sale.words() == WORDS
    assert len(sale.charges()) == 1
    sale.check_deliveries()
    text = "\n".join(f"{mail['Subject']} {mail.get_body(('plain',)).get_content()}" for mail in sale.mails())
    text = text.lower()
    assert "pay again" not in text.replace("don't pay again", "") and "could not" not in text
    check_words(shop, [sale])


CARD = {
    "redirect[return_url]": None, "amount": None, "currency": None, "card[number]": "4242424242424242",
    "card[exp_month]": 12, "card[exp_year]": 2034, "card[cvc]": 123,
}


def test_two_orders_on_one_source_are_two_charges(shop: Cluster):
    """15: two orders on one source with the same amount. Each answer is lost once, and each order is charged once."""
    sale, runs = None, 0
    for count, name in enumerate(("A77", "A78"), 1):
        order = {"amount": 700, "currency": "eur", "metadata": {"order": name}}
        shop.sandbox.fault("reset", match="/v1/charges", method="POST", times=1, after=True)
        # The shop repeats the request, as if our response had been lost.
        for _ in range(2):
            runs += 1
            if sale is None:
                sale = Sale(shop, "card", form=CARD, charge=order, is_kept=True, notify=shop.notify)
            else:
                assert shop.api.enqueue(sale.id, charge=order, policy="interactive").status_code == 201
            sale.closed(run=runs)
            named = [charge["metadata"]["order"] for charge in sale.charges()]
            assert named == ["A77", "A78"][:count][::-1], f"run {runs}: {named}"
    assert {charge["amount"] for charge in sale.charges()} == {700}
    # The source of another customer has its own order with the same amount.
    order = order | {"metadata": {"order": "A79"}}
    other = Sale(shop, "card", form=CARD, charge=order, is_kept=True, notify=shop.notify)
    other.closed()
    assert len(other.charges()) == 1 and len(sale.charges()) == 2
    check_words(shop, [sale, other])


def test_requests_over_the_limits_of_stripe_are_retried_without_a_report(shop: Cluster):
    """7: five requests per second for the polls and charges of eight payments. None is reported as failed."""
    sales = [Sale(shop, charge=True, notify=shop.notify) for _ in range(8)]
    for sale in sales:
        sale.pending()
    begun = shop.sandbox._call("GET", "/_sandbox/requests?path=/v1/*")["next"]
    shop.sandbox._call("POST", "/_sandbox/limits", json={"global_rate": 5})
    try:
        for sale in sales:
            shop.sandbox.authorise(sale.id)
        for sale in sales:
            sale.closed(timeout_s=90)
    finally:
        shop.sandbox._call("DELETE", "/_sandbox/limits")
    asked = shop.sandbox._call("GET", f"/_sandbox/requests?path=/v1/*&since={begun}")["data"]
    refused = [request for request in asked if request["status"] == 429]
    # Polls or charges: which of them meet the limit depends on their speed.
    assert refused, "the limit was never met"
    # A client that retries at once would be refused about a hundred times.
    assert len(refused) < 10 * len(sales), f"{len(refused)} of {len(asked)} were refused"
    for sale in sales:
        assert sale.told() == WHOLE and sale.words() == WORDS and len(sale.charges()) == 1
        sale.check_deliveries()
        assert len(sale.mails()) == 2
    check_words(shop, sales)
