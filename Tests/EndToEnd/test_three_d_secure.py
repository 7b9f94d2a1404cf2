"""Tests cards whose bank requires 3-D Secure: another source authenticates the customer, and one charge is made."""

import pytest
import requests
from test_charging import charges_of, closed, create, payment_events, types

from harness.cluster import SHORT_LEASE, Cluster
from harness.waiting import wait_until

# The first card reports that it requires 3-D Secure. The second is declined when it is charged without.
REQUIRED, ASKS_ANEW = "4000000000003063", "4000002760003184"
PUBLIC = "https://pay.shop.example"


def card(cluster: Cluster, number: str) -> str:
    return create(
        cluster, type="card", amount=1099, currency="eur",
        **{
            "redirect[return_url]": None, "card[number]": number, "card[exp_month]": 12,
            "card[exp_year]": 2034, "card[cvc]": 123,
        },
    )


def watch(cluster: Cluster, source: str, order: str | None = None, **fields) -> None:
    fields |= {"order": order} if order else {}
    answer = cluster.api.enqueue(source, charge=True, policy="interactive", **fields)
    assert answer.status_code in (200, 201), answer.text


def secure_of(cluster: Cluster, source: str) -> str:
    """Returns the 3-D Secure source made from a card, as the failed charge names it."""
    failed = [event for event in cluster.api.events(source) if event["type"] == "charge.failed"]
    return failed[-1]["object"]["three_d_secure"]


def paid(charges: list[dict]) -> list[dict]:
    return [charge for charge in charges if charge["status"] == "succeeded"]


@pytest.fixture
def cluster(chaos) -> Cluster:
    return chaos(workers=1, listen=False, env={"POLLER_PUBLIC_URL": PUBLIC})


@pytest.mark.parametrize("number, tries", [(REQUIRED, 0), (ASKS_ANEW, 1)])
@pytest.mark.parametrize("order", [None, "S-1"], ids=["alone", "order"])
def test_the_customer_is_redirected_to_the_bank_and_charged_once(cluster: Cluster, number: str, tries: int, order: str | None):
    source = card(cluster, number)
    watch(cluster, source, order, metadata={"cart": "7"})
    closed(cluster, source)
    assert types(cluster, source)[-1] == "charge.failed"
    assert len(charges_of(cluster, source)) == tries, "a card that requires 3-D Secure is not charged"
    seen = cluster.api.watch(source)
    assert (seen["payment"]["state"], seen["payment"]["reason"]) == ("failed", "authentication_required")
    step = seen["next_step"]
    secure = secure_of(cluster, source)
    assert step["type"] == "follow_link" and step["url"].startswith(f"{PUBLIC}/r/{secure}/continue?grant=")
    news = [event for event in cluster.api.events(source) if event["type"] == "next_step.changed"]
    assert [event["next_step"] for event in news] == [step]
    # The new source is watched as another attempt, with the shop's metadata and order.
    other = cluster.wait_status(secure, "pending")
    assert (other["metadata"], other.get("order")) == ({"cart": "7"}, order)
    # The URL works without a cookie, and only unchanged.
    way = step["url"].replace(PUBLIC, cluster.api.url)
    for wrong in (way[:-2], way.split("?")[0], way.replace("grant=", "grant=x")):
        assert requests.get(wrong, allow_redirects=False, timeout=30).status_code == 404
    led = requests.get(way, allow_redirects=False, timeout=30)
    assert led.status_code == 303 and led.headers["Location"].startswith(f"{cluster.sandbox.url}/redirect/{secure}")
    cluster.sandbox.authorise(secure)
    closed(cluster, secure)
    assert payment_events(cluster, secure)[-1] == "payment.paid"
    (charge,) = paid(charges_of(cluster, secure))
    assert charge["amount"] == 1099 and not paid(charges_of(cluster, source))
    assert payment_events(cluster, source) == ["payment.authorised", "payment.failed"], "the card has no further events"
    if order:
        found = wait_until(
            lambda: cluster.api.get(f"/v1/orders/{order}")["payment"]["state"] == "paid"
            and cluster.api.get(f"/v1/orders/{order}"), 60, "the order is paid"
        )
        assert found["paid_by"] == secure and "also_paid_by" not in found


def test_a_customer_who_cancels_at_the_bank_has_not_paid(cluster: Cluster):
    source = card(cluster, REQUIRED)
    watch(cluster, source, "S-2")
    closed(cluster, source)
    secure = secure_of(cluster, source)
    cluster.wait_status(secure, "pending")
    cluster.sandbox.set_status(secure, "failed")
    closed(cluster, secure)
    assert payment_events(cluster, secure) == ["payment.failed"]
    assert not charges_of(cluster, secure) and not charges_of(cluster, source)


def test_without_a_public_address_the_shop_is_notified(calm: Cluster):
    for number in (REQUIRED, ASKS_ANEW):
        source = card(calm, number)
        watch(calm, source)
        end = closed(calm, source)
        assert (end["payment"]["state"], end["payment"]["reason"]) == ("failed", "authentication_required")
        assert end["next_step"]["type"] == "return_to_shop"
        assert "three_d_secure" in end["last_error"] and "POLLER_PUBLIC_URL" in end["last_error"]
        assert not paid(charges_of(calm, source))


def test_workers_killed_in_between_create_one_source_and_charge_it_once(chaos):
    cluster: Cluster = chaos(workers=2, notifiers=1, listen=False, env=SHORT_LEASE | {"POLLER_PUBLIC_URL": PUBLIC})
    cards = {card(cluster, number): f"S-{n}" for n, number in enumerate([REQUIRED, ASKS_ANEW] * 4)}
    # Each source is created at once and its answer is delayed, so workers die in between.
    slow = [
        cluster.sandbox.fault("delay", match=path, method="POST", delay_ms=700) for path in ("/v1/sources", "/v1/charges")
    ]
    for source, order in cards.items():
        watch(cluster, source, order)
    for number in range(6):
        worker = cluster.workers[number % 2]
        worker.kill9()
        worker.start().wait_ready()
    for source in cards:
        closed(cluster, source, 60)
    tries = {source: secure_of(cluster, source) for source in cards}
    for secure in tries.values():
        cluster.wait_status(secure, "pending")
        cluster.sandbox.authorise(secure)
    for number in range(4):
        worker = cluster.workers[number % 2]
        worker.kill9()
        worker.start().wait_ready()
    for fault in slow:
        cluster.sandbox.clear_fault(fault)
    for source, secure in tries.items():
        closed(cluster, secure, 90)
        assert len(paid(charges_of(cluster, secure))) == 1 and not paid(charges_of(cluster, source))
        assert payment_events(cluster, source) == ["payment.authorised", "payment.failed"]
    made = cluster.sandbox._call("GET", "/_sandbox/requests?path=/v1/sources")["data"]
    assert made, "the sandbox remembers"
    names = {watch["source"] for watch in cluster.api.watches()}
    assert names == set(cards) | set(tries.values()), "one source was made of each card"
    assert not cluster.fsck().returncode, cluster.fsck().stdout
