"""Tests unusual payment flows that a reviewer found, each with the false report it used to cause.

| #  | reported before the fix                                                              |
|----|--------------------------------------------------------------------------------------|
| 1  | money lost before the first poll: paid, or processing with amount 0                  |
| 4  | the shop's own charge after its watch had closed: nothing                            |
| 5  | the shop's own charge after the bank had declined our charge: failed                 |
| 6  | money returned while the source could not be polled: paid, once more                 |
| 7  | the shop's own charges that take no money, or have not taken it yet: paid            |

A number with a letter is a separate scenario.
"""

import time

import pytest
from harness.cluster import Cluster
from harness.shop import Sale, check_words, with_webhooks
from harness.waiting import wait_until

WORDS = ["payment.authorised", "payment.paid"]
AMOUNT = 1099
CARD = {
    "redirect[return_url]": None, "card[number]": "4242424242424242", "card[exp_month]": 12,
    "card[exp_year]": 2034, "card[cvc]": 123,
}
# Longer than a payment state may be reused without another read.
CARRIED_S = 6


@pytest.fixture(scope="module")
def shop():
    """Starts a cluster without an event sweep, so webhooks are the only hints."""
    with Cluster(workers=2, notifiers=2, listen=False, env={"POLLER_STRIPE_SWEEP": "off"}) as cluster:
        yield with_webhooks(cluster)


def own(sale: Sale, **fields) -> dict:
    """Creates a charge as the shop does, without Poller."""
    form = {"source": sale.id, "amount": AMOUNT, "currency": "eur"} | fields
    return sale.cluster.sandbox._stripe("POST", "/v1/charges", form)


def chargeable(sale: Sale) -> Sale:
    """Makes the customer authorise the payment and waits until Poller has seen it."""
    sale.pending()
    sale.cluster.sandbox.authorise(sale.id)
    sale.cluster.wait_status(sale.id, "chargeable")
    return sale


def refund(shop: Cluster, charge: dict) -> None:
    shop.sandbox._stripe("POST", "/v1/refunds", {"charge": charge["id"]})


def lose(shop: Cluster, charge: dict) -> None:
    """Makes the customer's bank take back the whole amount by a lost dispute."""
    dispute = shop.sandbox._call("POST", f"/_sandbox/charges/{charge['id']}/disputes", json={})["id"]
    shop.sandbox._call("POST", f"/_sandbox/disputes/{dispute}/status", json={"status": "lost"})


def hold(shop: Cluster) -> str:
    """Holds Stripe's webhooks until `let_go`, and returns the ID of the fault."""
    return shop.sandbox._call("POST", "/_sandbox/webhooks/faults", json={"mode": "hold"})["id"]


def let_go(shop: Cluster, held: str) -> None:
    shop.sandbox._call("DELETE", f"/_sandbox/webhooks/faults/{held}")


def wait_last(sale: Sale, word: str) -> None:
    wait_until(lambda: sale.words()[-1:] == [f"payment.{word}"], 60, f"{sale.id} is reported as {word}")


def check(shop: Cluster, sale: Sale) -> None:
    """Checks that no event follows, that each was delivered once, and that none was false."""
    words = sale.words()
    sale.check_deliveries()
    check_words(shop, [sale])
    assert sale.words() == words


def test_money_lost_before_the_first_poll_is_not_reported_as_paid(shop: Cluster):
    """1a: the dispute's webhook is the only information while the source cannot be polled."""
    charges, faults = [], []

    def before(sale: Sale) -> None:
        shop.sandbox.authorise(sale.id)
        charges.append(own(sale))
        time.sleep(1)
        faults.append(shop.sandbox.fault("status", match=f"/v1/sources/{sale.id}", method="GET", status=503))

    sale = Sale(shop, before=before, notify=shop.notify)
    lose(shop, charges[0])
    time.sleep(2)
    shop.sandbox.clear_fault(faults[0])
    sale.closed()
    wait_last(sale, "reversed")
    check(shop, sale)


def test_a_new_watch_of_a_lost_dispute_reports_only_the_loss(shop: Cluster):
    """1b: the second run starts with a consumed source whose money is already lost."""
    order = {"metadata": {"order": "A"}}
    sale = Sale(shop, charge=order, notify=shop.notify).pending()
    shop.sandbox.authorise(sale.id)
    sale.closed()
    held = hold(shop)
    lose(shop, sale.charges()[0])
    time.sleep(1)
    shop.enqueue(sale.id, client_secret=sale.source["client_secret"], charge=order)
    sale.closed(run=2)
    wait_last(sale, "reversed")
    let_go(shop, held)
    assert sale.words() == WORDS + ["payment.reversed"] and len(sale.charges()) == 1
    check(shop, sale)


@pytest.mark.parametrize("name, word", [("succeeding_charge", "paid"), ("failing_charge", "failed")])
def test_the_result_of_the_shop_s_charge_is_reported_after_the_watch_closed(shop: Cluster, name: str, word: str):
    """4: the watch closes when the source leaves pending. The shop charges afterwards, and the bank answers late."""
    form = {"sofort[country]": "DE", "owner[name]": name}
    sale = Sale(shop, "sofort", form=form, until="left_pending", notify=shop.notify).pending()
    shop.sandbox.authorise(sale.id)
    sale.closed()
    own(sale)
    wait_last(sale, word)
    told = [it for it in sale.words() if it != "payment.processing"]
    assert told == ["payment.authorised", f"payment.{word}"]
    check(shop, sale)


def test_a_charge_by_the_shop_after_our_declined_charge_is_paid(shop: Cluster):
    """5b: the bank declines our charge and accepts the shop's own charge afterwards."""
    refusal = {"type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds", "message": "No."}
    sale = Sale(shop, charge={"metadata": {"order": "A"}}, notify=shop.notify).pending()
    shop.sandbox.fault("status", match="/v1/charges", method="POST", status=402, times=1, body={"error": refusal})
    shop.sandbox.authorise(sale.id)
    wait_last(sale, "failed")
    own(sale)
    wait_last(sale, "paid")
    assert sale.words() == ["payment.authorised", "payment.failed", "payment.paid"]
    # The decline came from a fault and is missing in the sandbox's ledger, so `check_words` cannot be used here.
    sale.check_deliveries()
    assert sale.closed()["payment"]["amount_received"] == AMOUNT


def test_a_refund_before_the_saved_card_was_deleted_is_reported(shop: Cluster):
    """6b: the source was not polled for a while, and the webhook of the refund arrives late."""
    order = {"metadata": {"order": "A"}}
    sale = Sale(shop, "card", charge=order, form=CARD, is_kept=True, until="final", notify=shop.notify)
    wait_last(sale, "paid")
    time.sleep(4)
    held = hold(shop)
    refund(shop, sale.charges()[0])
    time.sleep(CARRIED_S + 3)
    shop.sandbox.set_status(sale.id, "consumed")
    sale.closed()
    (used_up,) = [event for event in sale.events() if event["type"] == "source.consumed"]
    let_go(shop, held)
    assert used_up["payment"]["state"] == "refunded"
    assert sale.words() == WORDS + ["payment.refunded"]
    check(shop, sale)


def test_a_hold_on_a_3d_secure_card_is_not_a_payment(shop: Cluster):
    """7a: the shop charges without capture and releases the hold later, so no money was ever taken."""
    form = {"type": "card", "amount": AMOUNT, "currency": "eur"} | CARD
    form = {name: value for name, value in form.items() if value}
    card = shop.sandbox._stripe("POST", "/v1/sources", form)
    sale = Sale(shop, "three_d_secure", form={"three_d_secure[card]": card["id"]}, notify=shop.notify)
    # This card needs no authentication by the customer.
    shop.wait_status(sale.id, "chargeable")
    charge = own(sale, capture="false")
    assert (charge["status"], charge["captured"]) == ("succeeded", False)
    sale.closed()
    wait_last(sale, "authorised")
    refund(shop, charge)
    wait_last(sale, "cancelled")
    assert sale.words()[0] == "payment.authorised" and "payment.paid" not in sale.words()
    check(shop, sale)


def test_a_charge_by_the_shop_that_fails_later_was_never_paid(shop: Cluster):
    """7b: an iDEAL charge usually succeeds at once. This one fails later, so no money arrived and none went back."""
    sale = chargeable(Sale(shop, form={"owner[name]": "failing_charge"}, notify=shop.notify))
    assert own(sale)["status"] == "pending"
    wait_last(sale, "failed")
    assert sale.words()[0] == "payment.authorised"
    assert not {"payment.paid", "payment.reversed"} & set(sale.words())
    check(shop, sale)


def test_a_hold_released_between_polls_is_reported_as_cancelled(shop: Cluster):
    """7c: a hint reopens the watch, its poll gets no answer, and meanwhile the shop enqueues the source again."""
    sale = chargeable(Sale(shop, "klarna", notify=shop.notify))
    charge = own(sale, capture="false")
    sale.closed()
    wait_last(sale, "authorised")
    # By now the hints that follow the charge have arrived too.
    time.sleep(4)
    sale.closed()
    shut = shop.sandbox.fault("status", match="/v1/charges/", method="GET", status=503)
    refund(shop, charge)
    wait_until(lambda: shop.api.watch(sale.id)["state"] == "open", 60, "its hint reopens the watch")
    time.sleep(3)
    shop.enqueue(sale.id, client_secret=sale.source["client_secret"])
    time.sleep(1)
    shop.sandbox.clear_fault(shut)
    wait_last(sale, "cancelled")
    assert "payment.paid" not in sale.words()
    check(shop, sale)


LOCK = {"type": "invalid_request_error", "code": "lock_timeout", "message": "Locked."}
LOCKED = {"status": 429, "body": {"error": LOCK}}


# This test runs last, because a 429 slows the lane down for a while.
@pytest.mark.parametrize(
    "answer, move, word",
    [(LOCKED, refund, "refunded"), ({"status": 429}, lose, "reversed")],
    ids=["locked, refunded", "too many requests, lost"],
)
def test_a_refund_before_the_source_was_polled_is_reported_with_the_payment(shop: Cluster, answer: dict, move, word: str):
    """6a: the source cannot be polled from its charge on, and the webhook about the money arrives late."""
    def posted() -> int:
        asked = shop.sandbox._call("GET", "/_sandbox/requests?path=/v1/charges")["data"]
        return sum(request["method"] == "POST" for request in asked)

    sale = Sale(shop, charge={"metadata": {"order": "A"}}, notify=shop.notify).pending()
    held, before = hold(shop), posted()
    slow = shop.sandbox.fault("hang", match="/v1/charges", method="POST", times=1)
    shop.sandbox.authorise(sale.id)
    wait_until(lambda: posted() > before, 60, "its charge is asked for")
    shut = shop.sandbox.fault("status", match=f"/v1/sources/{sale.id}", method="GET", **answer)
    shop.sandbox.clear_fault(slow)
    (charge,) = wait_until(sale.charges, 60, "it is charged")
    wait_last(sale, "paid")
    move(shop, charge)
    time.sleep(CARRIED_S + 3)
    shop.sandbox.clear_fault(shut)
    sale.closed(timeout_s=60)
    (used_up,) = [event for event in sale.events() if event["type"] == "source.consumed"]
    let_go(shop, held)
    assert used_up["payment"]["state"] == word
    assert sale.words() == WORDS + [f"payment.{word}"]
    check(shop, sale)
