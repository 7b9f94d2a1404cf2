"""Tests money that arrives in parts: Stripe's hint publishes each part before the next scheduled poll."""

import pytest
from harness.cluster import Cluster
from harness.shop import with_webhooks
from harness.waiting import wait_until

# The patient policy polls at once and again after 27 to 33 s, so an earlier change is known from a hint.
SOON_S = 26


@pytest.fixture(scope="module", params=["webhook", "sweep"])
def hinted(request):
    """Starts a cluster that receives Stripe's events only by webhook, or only by its own sweep."""
    sweep = "off" if request.param == "webhook" else "1s"
    with Cluster(workers=1, listen=False, env={"POLLER_STRIPE_SWEEP": sweep}) as cluster:
        if request.param == "webhook":
            with_webhooks(cluster)
        yield cluster


def types(cluster: Cluster, source: str) -> list[str]:
    return [event["type"] for event in cluster.api.events(source)]


def last(cluster: Cluster, source: str, type: str) -> dict:
    return wait_until(
        lambda: [event for event in cluster.api.events(source) if event["type"] == type][-1:], SOON_S, type
    )[0]


def test_each_partial_payment_of_a_source_is_reported(hinted: Cluster):
    form = {"type": "multibanco", "amount": 1099, "currency": "eur", "owner[email]": "jenny@example.com",
            "redirect[return_url]": "https://shop.example.com/thanks"}
    source = hinted.sandbox._stripe("POST", "/v1/sources", form)["id"]
    hinted.follow(source, policy="patient", notify=[])
    hinted.sandbox._call("POST", f"/_sandbox/sources/{source}/payments", json={"amount": 400})
    part = last(hinted, source, "payment.partially_paid")["payment"]
    assert (part["amount"], part["amount_received"], part["currency"]) == (1099, 400, "eur")
    hinted.sandbox._call("POST", f"/_sandbox/sources/{source}/payments", json={"amount": 699})
    whole = last(hinted, source, "payment.authorised")["payment"]
    assert whole["amount"] == 1099
    assert types(hinted, source)[-1] == "source.chargeable"


def test_each_partial_payment_of_an_intent_is_reported(hinted: Cluster):
    customer = hinted.sandbox._stripe("POST", "/v1/customers", {})["id"]
    form = {"amount": 2000, "currency": "eur", "customer": customer, "confirm": "true",
            "payment_method_types[]": "customer_balance", "payment_method_data[type]": "customer_balance",
            "return_url": "https://shop.example.com/thanks"}
    intent = hinted.sandbox._stripe("POST", "/v1/payment_intents", form)["id"]
    hinted.enqueue(intent, policy="patient", notify=[])
    hinted.wait_status(intent, "requires_action")
    hinted.sandbox._call("POST", f"/_sandbox/payment_intents/{intent}/payments", json={"amount": 500})
    told = last(hinted, intent, "payment.partially_paid")
    assert (told["payment"]["amount"], told["payment"]["amount_received"]) == (2000, 500)
    assert told["next_step"]["type"] == "transfer" and told["next_step"]["amount_missing"] == 1500
    hinted.sandbox._call("POST", f"/_sandbox/payment_intents/{intent}/payments", json={"amount": 1500})
    assert last(hinted, intent, "payment.paid")["payment"]["amount_received"] == 2000
