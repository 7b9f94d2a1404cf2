"""Tests the events of a payment that the shop's own backend charges, captures and releases.

Half of the shops charge a source themselves, as both guides do at first. The shop knows the source's ID and does not
report the charge to Poller.
"""

import pytest
from harness.cluster import Cluster
from harness.shop import Sale, check_words, with_webhooks
from harness.waiting import wait_until
from test_settling import intent

CARD = {
    "redirect[return_url]": None, "amount": None, "card[number]": "4242424242424242", "card[exp_month]": 12,
    "card[exp_year]": 2034, "card[cvc]": 123,
}
DEBIT = {"redirect[return_url]": None, "amount": None, "sepa_debit[iban]": "DE89370400440532013000", "owner[name]": "Zoë"}
TRANSFER = {"redirect[return_url]": None, "amount": None, "currency": "usd"}


@pytest.fixture(scope="module")
def shop():
    """Starts a cluster without an event sweep, so webhooks are the only hints."""
    with Cluster(workers=2, notifiers=2, listen=False, env={"POLLER_STRIPE_SWEEP": "off"}) as cluster:
        yield with_webhooks(cluster)


def charge(sale: Sale, **fields) -> dict:
    """Charges as a shop does: the source, and its customer if it has one."""
    source = sale.cluster.sandbox._stripe("GET", f"/v1/sources/{sale.id}")
    form = {"source": sale.id, "amount": 1099, "currency": source["currency"] or "eur"} | fields
    if source.get("customer"):
        form["customer"] = source["customer"]
    return sale.cluster.sandbox._stripe("POST", "/v1/charges", form)


def has_state(sale: Sale, word: str) -> bool:
    return (sale.cluster.api.watch(sale.id).get("payment") or {}).get("state") == word


@pytest.mark.parametrize("until", ["settled", "final"])
@pytest.mark.parametrize("is_kept", [False, True], ids=["of nobody", "of a customer"])
@pytest.mark.parametrize("type, form", [("card", CARD), ("sepa_debit", DEBIT), ("ach_credit_transfer", TRANSFER)])
def test_a_source_charged_by_the_shop_is_paid(shop: Cluster, type: str, form: dict, is_kept: bool, until: str):
    sale = Sale(shop, type, form=form, is_kept=is_kept, until=until, notify=shop.notify)
    if type == "ach_credit_transfer":
        shop.sandbox._call("POST", f"/_sandbox/sources/{sale.id}/payments", json={"amount": 1099})
    shop.wait_status(sale.id, "chargeable")
    charge(sale)
    wait_until(lambda: has_state(sale, "paid"), 60, f"{sale.id} is paid")
    payment = shop.api.watch(sale.id)["payment"]
    assert payment["amount_received"] == 1099 and "unknown" not in sale.words()
    assert sale.words()[-1] == "payment.paid" and sale.words().count("payment.paid") == 1
    check_words(shop, [sale], by_time=False)


@pytest.mark.parametrize("is_kept", [False, True], ids=["of nobody", "of a customer"])
def test_a_source_charged_by_the_shop_before_the_watch_is_paid(shop: Cluster, is_kept: bool):
    def before(sale: Sale) -> None:
        charge(sale, **{"metadata[poller_order]": f"A-{sale.id}"})

    sale = Sale(shop, "card", form=CARD, is_kept=is_kept, before=before)
    assert sale.closed() and (is_kept or has_state(sale, "paid"))
    # A saved card may pay several orders, so only a charge that names the order counts.
    again = shop.enqueue(sale.id, client_secret=sale.source["client_secret"], order=f"A-{sale.id}")
    sale.closed(run=again["run"])
    assert has_state(sale, "paid")
    other = shop.enqueue(sale.id, client_secret=sale.source["client_secret"], order=f"B-{sale.id}")
    sale.closed(run=other["run"])
    assert not is_kept or has_state(sale, "authorised")


def test_a_card_detached_from_its_customer_is_not_paid(shop: Cluster):
    sale = Sale(shop, "card", form=CARD, is_kept=True, until="final", notify=shop.notify)
    shop.wait_status(sale.id, "chargeable")
    customer = shop.sandbox._stripe("GET", f"/v1/sources/{sale.id}")["customer"]
    shop.sandbox._stripe("DELETE", f"/v1/customers/{customer}/sources/{sale.id}")
    shop.api.request("POST", f"/v1/watches/{sale.id}/poll")
    wait_until(lambda: has_state(sale, "unknown"), 60, "it is detached")
    assert shop.api.watch(sale.id)["payment"]["reason"] == "detached"


def test_each_capture_of_a_hold_is_reported_and_the_rest_is_not_paid(shop: Cluster):
    source = intent(shop, **{"payment_method_options[card][request_multicapture]": "if_available"})
    assert shop.api.enqueue(source, notify=shop.notify).status_code in (200, 201)
    payment = lambda: shop.api.watch(source).get("payment") or {}  # noqa: E731
    wait_until(lambda: payment().get("state") == "authorised", 60, "held")
    for amount, received in ((500, 500), (700, 1200)):
        form = {"amount_to_capture": amount, "final_capture": "false"}
        shop.sandbox._stripe("POST", f"/v1/payment_intents/{source}/capture", form)
        wait_until(lambda received=received: payment().get("amount_received") == received, 60, "captured")
        assert (payment()["state"], payment()["reason"], payment()["amount"]) == ("partially_paid", "held", 2000)
    shop.sandbox._stripe("POST", f"/v1/payment_intents/{source}/capture", {"amount_to_capture": 300})
    wait_until(lambda: payment().get("state") == "paid", 60, "captured at last")
    assert payment()["amount_received"] == 1500 and "reason" not in payment()
    words = [event["type"] for event in shop.api.events(source) if event["type"].startswith("payment.")]
    assert words == ["payment.authorised", "payment.partially_paid", "payment.partially_paid", "payment.paid"]


@pytest.mark.parametrize("version", [None, "2024-06-20"])
def test_a_partial_capture_is_paid_and_refunds_count_against_it(shop: Cluster, version: str | None):
    source = intent(shop)
    assert shop.api.enqueue(source, notify=shop.notify).status_code in (200, 201)
    payment = lambda: shop.api.watch(source).get("payment") or {}  # noqa: E731
    wait_until(lambda: payment().get("state") == "authorised", 60, "held")
    headers = {"Stripe-Version": version} if version else {}
    form = {"amount_to_capture": 1200}
    made = shop.sandbox._call(
        "POST", f"/v1/payment_intents/{source}/capture", data=form,
        headers={"Authorization": "Bearer sk_test_0123456789abcdef"} | headers,
    )
    wait_until(lambda: payment().get("state") == "paid", 60, "captured")
    assert (payment()["amount"], payment()["amount_received"]) == (2000, 1200)
    for amount, word, returned in ((1000, "partially_refunded", 1000), (200, "refunded", 1200)):
        shop.sandbox._stripe("POST", "/v1/refunds", {"charge": made["latest_charge"], "amount": amount})
        wait_until(lambda word=word: payment().get("state") == word, 60, word)
        assert payment()["amount_returned"] == returned
    words = [event["type"] for event in shop.api.events(source) if event["type"].startswith("payment.")]
    assert words == ["payment.authorised", "payment.paid", "payment.partially_refunded", "payment.refunded"]


def test_an_expired_hold_is_reported_for_the_intent_and_for_the_charge(shop: Cluster):
    source = intent(shop)
    held = shop.sandbox._stripe("GET", f"/v1/payment_intents/{source}")["latest_charge"]
    for id in (source, held):
        assert shop.api.enqueue(id).status_code in (200, 201)
        wait_until(lambda id=id: shop.api.watch(id).get("payment", {}).get("state") == "authorised", 60, "held")
    shop.sandbox._call("POST", f"/_sandbox/charges/{held}/expire", json={})
    for id in (source, held):
        wait_until(lambda id=id: shop.api.watch(id)["payment"]["state"] == "expired", 60, f"{id} has expired")
        assert shop.api.watch(id)["payment"]["reason"] == "authorisation_expired"
