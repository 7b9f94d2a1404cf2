"""Tests payments whose money moves while the source cannot be polled and the watch is open.

The numbers refer to the table in test_payment_pains.
"""

import time

import pytest
from harness.cluster import Cluster
from harness.shop import Sale, check_words, with_webhooks
from harness.waiting import wait_until

WORDS = ["payment.authorised", "payment.paid"]


@pytest.fixture(scope="module")
def shop():
    """Starts a cluster without an event sweep, so webhooks are the only hints."""
    with Cluster(workers=2, notifiers=2, listen=False, env={"POLLER_STRIPE_SWEEP": "off"}) as cluster:
        yield with_webhooks(cluster)


def posted(shop: Cluster) -> int:
    """Returns the number of charge requests, including those without an answer yet."""
    asked = shop.sandbox._call("GET", "/_sandbox/requests?path=/v1/charges")["data"]
    return sum(request["method"] == "POST" for request in asked)


def charged_out_of_sight(shop: Cluster, sale: Sale) -> tuple[dict, str]:
    """Charges a sale and then makes polls of its source fail. Returns the charge and the ID of the fault."""
    before = posted(shop)
    slow = shop.sandbox.fault("hang", match="/v1/charges", method="POST", times=1)
    shop.sandbox.authorise(sale.id)
    wait_until(lambda: posted(shop) > before, 60, "its charge is asked for")
    shut = shop.sandbox.fault("status", match=f"/v1/sources/{sale.id}", method="GET", status=503)
    shop.sandbox.clear_fault(slow)
    (charge,) = wait_until(sale.charges, 60, "it is charged")
    return charge, shut


@pytest.mark.parametrize("move, word", [("refund", "partially_refunded"), ("dispute", "disputed")])
def test_a_change_of_the_money_is_reported_before_the_source_changes(shop: Cluster, move: str, word: str):
    """1: a hint about the money arrives while the watch is open, and the source does not show the change."""
    sale = Sale(shop, charge={"metadata": {"order": "A"}}, notify=shop.notify).pending()
    charge, shut = charged_out_of_sight(shop, sale)
    wait_until(lambda: "payment.paid" in sale.words(), 60, "it is paid")
    if move == "refund":
        shop.sandbox._stripe("POST", "/v1/refunds", {"charge": charge["id"], "amount": 99})
    else:
        shop.sandbox._call("POST", f"/_sandbox/charges/{charge['id']}/disputes", json={})
    wait_until(lambda: f"payment.{word}" in sale.words(), 60, "the change of the money is reported")
    assert shop.api.watch(sale.id)["state"] == "open"
    shop.sandbox.clear_fault(shut)
    shop.api.request("POST", f"/v1/watches/{sale.id}/poll")
    assert sale.closed()["payment"]["state"] == word
    assert sale.told()[-1] == "source.consumed"
    assert sale.words() == WORDS + [f"payment.{word}"]
    sale.check_deliveries()
    check_words(shop, [sale])


def test_a_charge_that_failed_between_polls_is_not_reported_as_processing(shop: Cluster):
    """11: the known charge state is outdated when polls of the source work again, so the charge is read first."""
    form = {"sofort[country]": "DE", "owner[name]": "failing_charge"}
    sale = Sale(shop, "sofort", charge={"metadata": {"order": "A"}}, form=form, notify=shop.notify).pending()
    held = shop.sandbox._call("POST", "/_sandbox/webhooks/faults", json={"mode": "hold"})["id"]
    _, shut = charged_out_of_sight(shop, sale)
    wait_until(lambda: "charge.pending" in sale.told(), 60, "its charge is pending")
    wait_until(lambda: sale.charges()[0]["status"] == "failed", 60, "the charge has failed")
    # Longer than a payment state may be reused without another read.
    time.sleep(6)
    shop.sandbox.clear_fault(shut)
    shop.sandbox._call("DELETE", f"/_sandbox/webhooks/faults/{held}")
    sale.closed()
    assert sale.words() == ["payment.authorised", "payment.processing", "payment.failed"]
    sale.check_deliveries()
    check_words(shop, [sale])


def test_a_dispute_that_was_lost_between_polls_is_not_reported_as_open(shop: Cluster):
    """10: a charge stays marked as disputed, so the outcome is read from its disputes, without any hint."""
    sale = Sale(shop, charge={"metadata": {"order": "A"}}, notify=shop.notify).pending()
    held = shop.sandbox._call("POST", "/_sandbox/webhooks/faults", json={"mode": "hold"})["id"]
    charge, shut = charged_out_of_sight(shop, sale)
    wait_until(lambda: "payment.paid" in sale.words(), 60, "it is paid")
    dispute = shop.sandbox._call("POST", f"/_sandbox/charges/{charge['id']}/disputes", json={})["id"]
    shop.sandbox._call("POST", f"/_sandbox/disputes/{dispute}/status", json={"status": "lost"})
    # Longer than a payment state may be reused without another read.
    time.sleep(6)
    shop.sandbox.clear_fault(shut)
    sale.closed()
    shop.sandbox._call("DELETE", f"/_sandbox/webhooks/faults/{held}")
    wait_until(lambda: "payment.reversed" in sale.words(), 60, "the payment is reported as reversed")
    assert sale.words() == WORDS + ["payment.reversed"]
    sale.check_deliveries()
    check_words(shop, [sale])


def test_a_key_without_access_to_charges_still_reports_the_status(shop: Cluster):
    """1: the status is published even though the charge cannot be read."""
    sale = Sale(shop, policy="patient", notify=shop.notify).pending()
    held = shop.sandbox._call("POST", "/_sandbox/webhooks/faults", json={"mode": "hold"})["id"]
    shut = shop.sandbox.fault("status", match="/v1/charges", method="GET", status=403)
    shop.sandbox.authorise(sale.id)
    shop.sandbox.charge(sale.id)
    shop.sandbox._call("DELETE", f"/_sandbox/webhooks/faults/{held}")
    wait_until(lambda: sale.told()[-1:] == ["source.consumed"], 60, "the status is reported")
    shop.sandbox.clear_fault(shut)
    wait_until(lambda: shop.api.watch(sale.id)["state"] == "closed", 70, "the poll for the money is over")
    assert sale.told().count("source.consumed") == 1 and sale.words()[-1] == "payment.paid"
