"""Tests which payment events are published for saved cards that pay again, and for the shop's own charges."""

import pytest
from harness.cluster import Cluster
from harness.commands import pollerctl
from harness.shop import Sale, check_words, with_webhooks
from harness.waiting import wait_until

# A card that the customer saves. It has no redirect.
CARD = {
    "redirect[return_url]": None, "card[exp_month]": 12, "card[exp_year]": 2034, "card[cvc]": 123,
    "card[number]": "4242424242424242",
}
SUM = {"amount": 1099, "currency": "eur"}


@pytest.fixture(scope="module")
def shop():
    with Cluster(workers=2, notifiers=1, listen=False, env={"POLLER_STRIPE_SWEEP": "off"}) as cluster:
        yield with_webhooks(cluster)


def saved_card(shop: Cluster, **fields) -> Sale:
    return Sale(shop, "card", form=CARD, is_kept=True, notify=shop.notify, **fields)


def order(shop: Cluster, name: str) -> dict:
    answer = shop.api.request("GET", f"/v1/orders/{name}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_second_order_with_equal_data_on_a_saved_card_is_charged(shop):
    sale = saved_card(shop, charge=SUM, order="A77")
    sale.closed()
    again = shop.enqueue(
        sale.id, client_secret=sale.source["client_secret"], charge=SUM, order="A78", notify=shop.notify
    )
    assert again["run"] == 2
    sale.closed(run=2)
    charges = {charge["metadata"].get("poller_order"): charge for charge in sale.charges()}
    assert set(charges) == {"A77", "A78"} and len(sale.charges()) == 2
    for name in charges:
        wait_until(lambda name=name: order(shop, name)["payment"]["state"] == "paid", 60, f"{name} is paid")
    # The same order is not charged again.
    shop.enqueue(sale.id, client_secret=sale.source["client_secret"], charge=SUM, order="A78")
    sale.closed(run=3)
    assert len(sale.charges()) == 2


def test_a_refunded_charge_is_reported_as_refunded_despite_its_lost_response(shop):
    held = shop.sandbox._call("POST", "/_sandbox/webhooks/faults", json={"mode": "hold"})["id"]
    try:
        # The worker waits for the response until it times out, so it does not repeat the request before.
        shop.sandbox.fault("hang", match="/v1/charges", method="POST", times=1, after=True)
        sale = saved_card(shop, charge={"metadata": {"order": "lost"}})
        charge = wait_until(lambda: first_charge(shop, sale), 60, "a charge")
        # Reads of charges fail until the refund is made, so that the next attempt finds a refunded charge.
        shut = shop.sandbox.fault("status", match="/v1/charges", method="GET", status=503)
        shop.sandbox._stripe("POST", "/v1/refunds", {"charge": charge})
        shop.sandbox.clear_fault(shut)
    finally:
        shop.sandbox._call("DELETE", f"/_sandbox/webhooks/faults/{held}")
    # If the next attempt was earlier than the refund, the webhook reports the refund.
    wait_until(lambda: sale.words()[-1:] == ["payment.refunded"], 60, "the refund is reported")
    assert "payment.failed" not in sale.words()
    sale.closed()
    assert [charge["refunded"] for charge in sale.charges()] == [True]
    check_words(shop, [sale], by_time=False)


def first_charge(shop: Cluster, sale: Sale) -> str | None:
    """Returns the charge of a source once Stripe has an event about it."""
    listed = shop.sandbox._stripe("GET", "/v1/events?limit=50")["data"]
    found = [
        event["data"]["object"]["id"] for event in listed
        if event["type"] == "charge.succeeded"
        and (event["data"]["object"].get("source") or {}).get("id") == sale.id
    ]
    return found[0] if found else None


def test_an_expired_hold_of_the_shop_is_reported_as_expired(shop):
    sale = Sale(shop, "klarna", notify=shop.notify).pending()
    shop.sandbox.authorise(sale.id)
    shop.wait_status(sale.id, "chargeable")
    shop.sandbox._stripe("POST", "/v1/charges", SUM | {"source": sale.id, "capture": "false"})
    sale.closed()
    wait_until(lambda: sale.events()[-1]["seq"] > 3, 60, "the charge is reported")
    shop.sandbox._call("POST", "/_sandbox/clock/advance", json={"seconds": 28 * 86_400 + 60})
    told = {"payment.expired", "payment.cancelled"}
    wait_until(lambda: set(sale.words()) & told, 60, "the end is reported")
    payment = shop.api.watch(sale.id)["payment"]
    assert (payment["state"], payment["reason"]) == ("expired", "authorisation_expired")
    check_words(shop, [sale], by_time=False)


def test_an_open_watch_of_one_order_is_not_joined_for_another(shop):
    sale = Sale(shop, notify=shop.notify, order="O-1").pending()
    answer = shop.api.enqueue(sale.id, order="O-2")
    assert (answer.status_code, answer.json()["code"]) == (409, "order_mismatch"), answer.text
    assert "O-1" in answer.json()["detail"]
    asked = pollerctl(shop, "enqueue", sale.id, "--order", "O-2", status=None)
    assert asked.returncode != 0 and "O-1" in asked.stderr, asked
    assert shop.api.request("GET", "/v1/orders/O-2").status_code == 404
    assert shop.api.watch(sale.id)["order"] == "O-1"
