"""Tests that refunds, disputes and returned debits after a payment are reported once, without constant polling."""

import time

import pytest
from harness.cluster import Cluster
from harness.commands import pollerctl
from harness.history_checker import is_beside
from harness.shop import with_webhooks
from harness.waiting import wait_until


@pytest.fixture(scope="module")
def hinted():
    """A cluster that receives the sandbox's webhooks but does not sweep its events."""
    with Cluster(workers=1, listen=False, env={"POLLER_STRIPE_SWEEP": "off"}) as cluster:
        yield with_webhooks(cluster)


def payment_states(cluster: Cluster, source: str) -> list[str]:
    """Returns the reported payment states, in order."""
    events = cluster.api.events(source)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    told = [event for event in events if event["type"].startswith("payment.")]
    assert all(event["type"] == f"payment.{event['payment']['state']}" for event in told)
    return [event["payment"]["state"] for event in told]


def wait_payment(cluster: Cluster, source: str, word: str) -> dict:
    """Waits until a watch's payment has this state, and returns the payment."""
    def payment() -> dict | None:
        found = cluster.api.watch(source).get("payment") or {}
        return found if found.get("state") == word else None

    return wait_until(payment, 60, f"{source} is {word}")


def paid_intent(cluster: Cluster) -> tuple[str, str]:
    """Returns a paid intent whose watch has closed, and its charge."""
    intent = cluster.sandbox.create_intent()
    cluster.enqueue(intent, policy="interactive")
    cluster.wait_status(intent, "requires_action")
    cluster.sandbox.authorise(intent)
    wait_payment(cluster, intent, "paid")
    assert cluster.api.watch(intent)["closed_reason"] == "settled"
    return intent, cluster.sandbox._stripe("GET", f"/v1/payment_intents/{intent}")["latest_charge"]


def charged_source(cluster: Cluster, **charge) -> tuple[str, str]:
    """Returns a source that its watch charged before it closed, and the charge."""
    source = cluster.sandbox.create_source()
    answer = cluster.api.enqueue(source, charge=True, policy="interactive", **charge)
    assert answer.status_code in (200, 201), answer.text
    cluster.wait_status(source, "pending")
    cluster.sandbox.authorise(source)
    wait_until(lambda: cluster.api.watch(source)["state"] == "closed", 60, "settled")
    return source, cluster.api.watch(source)["charge"]["id"]


@pytest.mark.parametrize("make", [paid_intent, charged_source])
def test_refunds_are_each_reported_once_without_polls_between_them(hinted: Cluster, make):
    source, charge = make(hinted)
    looks = len(hinted.sandbox.polls(source))
    hinted.sandbox._stripe("POST", "/v1/refunds", {"charge": charge, "amount": 99})
    part = wait_payment(hinted, source, "partially_refunded")
    assert part["amount_returned"] == 99 and part["amount_received"] == part["amount"]
    hinted.sandbox._stripe("POST", "/v1/refunds", {"charge": charge})
    whole = wait_payment(hinted, source, "refunded")
    assert whole["amount_returned"] == whole["amount_received"]
    told = payment_states(hinted, source)
    assert told[-3:] == ["paid", "partially_refunded", "refunded"], told
    # Another event about the refund may have reopened the watch for a moment.
    wait_until(lambda: hinted.api.watch(source).get("closed_reason") == "settled", 60, "it has ended again")
    last = hinted.api.events(source)[-1]
    assert last["final"] and last["closed_reason"] == "settled" and last["object"]
    statuses = [event["type"] for event in hinted.api.events(source) if not is_beside(event)]
    assert len(statuses) == len(set(statuses)), statuses
    time.sleep(3)
    # Each of four events reopens the watch for at most three polls, and a poll is repeated if an event comes during it.
    # A watch that is polled constantly gets sixty.
    assert len(hinted.sandbox.polls(source)) - looks <= 16


@pytest.mark.parametrize("is_resumed", [False, True])
def test_follow_ends_although_a_poll_of_the_payment_records_nothing(hinted: Cluster, is_resumed):
    intent, _ = paid_intent(hinted)
    start = ["--after", str(hinted.api.watch(intent)["seq"])] if is_resumed else []
    # For ten seconds the payment may show a change.
    pollerctl(hinted, "poll", intent)
    assert hinted.api.watch(intent)["state"] == "open"
    told = pollerctl(hinted, "follow", intent, *start).stdout
    assert ("payment.paid" in told) != is_resumed
    assert hinted.api.watch(intent)["state"] == "closed"


@pytest.mark.parametrize("make", [paid_intent, charged_source])
@pytest.mark.parametrize("end, word", [("won", "paid"), ("lost", "reversed")])
def test_a_dispute_is_reported_when_it_opens_and_when_it_closes(hinted: Cluster, make, end, word):
    source, charge = make(hinted)
    dispute = hinted.sandbox._call("POST", f"/_sandbox/charges/{charge}/disputes", json={})["id"]
    wait_payment(hinted, source, "disputed")
    hinted.sandbox._call("POST", f"/_sandbox/disputes/{dispute}/status", json={"status": end})
    payment = wait_payment(hinted, source, word)
    if end == "lost":
        assert payment["reason"] == "dispute_lost"
        assert payment["amount_returned"] == payment["amount_received"]
    assert payment_states(hinted, source)[-3:] == ["paid", "disputed", word]


def test_a_debit_that_the_bank_returns_is_reported(hinted: Cluster):
    source, charge = charged_source(hinted)
    path = f"/_sandbox/charges/{charge}/status"
    hinted.sandbox._call("POST", path, json={"status": "failed"})
    payment = wait_payment(hinted, source, "reversed")
    assert payment["reason"] == "bank_returned" and payment["amount_returned"] == payment["amount_received"]
    assert payment_states(hinted, source)[-2:] == ["paid", "reversed"]


def test_a_bank_decision_after_the_watch_has_closed_is_reported(hinted: Cluster):
    form = {
        "type": "sofort", "amount": 1099, "currency": "eur", "sofort[country]": "DE",
        "redirect[return_url]": "http://127.0.0.1/r", "owner[name]": "pending_charge",
    }
    source = hinted.sandbox._stripe("POST", "/v1/sources", form)["id"]
    hinted.follow(source, policy="interactive")
    hinted.authorise(source)
    # The shop creates the charge itself.
    charge = hinted.sandbox.charge(source)["id"]
    wait_payment(hinted, source, "processing")
    wait_until(lambda: hinted.api.watch(source)["state"] == "closed", 60, "the watch ends")
    path = f"/_sandbox/charges/{charge}/status"
    hinted.sandbox._call("POST", path, json={"status": "succeeded"})
    assert wait_payment(hinted, source, "paid")["amount_received"] == 1099
    assert payment_states(hinted, source) == ["authorised", "processing", "paid"]
