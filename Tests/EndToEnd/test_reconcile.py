"""Tests `pollerctl reconcile`, which compares the charges at Stripe with the recorded watches and events."""

from harness.cluster import Cluster
from harness.commands import pollerctl, printed
from harness.waiting import wait_until


def reconcile(cluster: Cluster, *arguments: str) -> tuple[int, dict[str, dict]]:
    """Returns the exit status and the differences by source."""
    done = pollerctl(cluster, "reconcile", "--grace", "0s", "--json", *arguments, status=None)
    assert done.returncode in (0, 1), f"{done.returncode} {done.stdout} {done.stderr}"
    found = printed(done)
    assert done.returncode == (1 if found else 0)
    return done.returncode, {one["source"]: one for one in found}


def paid(cluster: Cluster) -> str:
    """Returns a watched source that the shop has charged and that was reported as paid."""
    source = cluster.sandbox.create_source()
    cluster.api.enqueue(source, policy="interactive")
    cluster.sandbox.authorise(source)
    cluster.sandbox.charge(source)
    wait_until(lambda: payment_state(cluster, source) == "paid", 60, "the payment is reported as paid")
    return source


def payment_state(cluster: Cluster, source: str) -> str | None:
    return (cluster.api.watch(source).get("payment") or {}).get("state")


def test_a_paid_payment_has_no_difference(calm: Cluster):
    source = paid(calm)
    assert source not in reconcile(calm)[1]


def test_an_unwatched_charge_is_found_and_watched(calm: Cluster):
    source = calm.sandbox.create_source()
    calm.sandbox.authorise(source)
    calm.sandbox.charge(source)
    status, found = reconcile(calm)
    assert status == 1 and found[source]["class"] == "unknown" and found[source]["charge"]
    assert "watched" in reconcile(calm, "--mend")[1][source]["mended"]
    wait_until(lambda: payment_state(calm, source) == "paid", 60, "the payment is reported as paid")
    assert source not in reconcile(calm)[1]


def test_an_uncharged_chargeable_source_is_found_and_not_changed(calm: Cluster):
    source = calm.sandbox.create_source()
    calm.api.enqueue(source, policy="interactive")
    calm.authorise(source)
    found = reconcile(calm, "--mend")[1][source]
    assert found["class"] == "uncharged" and "pollerctl source charge" in found["message"]
    assert "mended" not in found and calm.sandbox.source(source)["status"] == "chargeable"


def test_an_unreported_refund_is_found(calm: Cluster):
    source = paid(calm)
    charge = next(
        one["id"] for one in calm.sandbox._stripe("GET", "/v1/charges?limit=100")["data"]
        if one["source"]["id"] == source
    )
    calm.sandbox._stripe("POST", "/v1/refunds", {"charge": charge, "amount": 99})
    found = reconcile(calm)[1].get(source)
    # A sweep may have found the refund already, in which case there is no difference.
    assert found is None and payment_state(calm, source) == "partially_refunded" or found["class"] == "stale"


def test_a_payment_after_the_watch_was_cancelled_is_found_and_reported(calm: Cluster):
    source = calm.sandbox.create_source()
    calm.api.enqueue(source, policy="interactive")
    calm.wait_status(source, "pending")
    # An operator cancels the watch, and the customer pays nevertheless.
    calm.api.request("DELETE", f"/v1/watches/{source}")
    calm.sandbox.authorise(source)
    charge = calm.sandbox.charge(source)["id"]
    found = reconcile(calm)[1][source]
    assert (found["class"], found["charge"]) == ("untold", charge)
    assert "awaiting_customer" in found["message"]
    assert reconcile(calm, "--mend")[1][source]["mended"]
    wait_until(lambda: payment_state(calm, source) == "paid", 60, "the payment is reported as paid")
    assert source not in reconcile(calm)[1]


def test_a_reported_payment_without_a_charge_is_found(calm: Cluster):
    source = calm.sandbox.create_source()
    calm.api.enqueue(source, policy="interactive")
    calm.wait_status(source, "pending")
    # Consumed without a charge: for a payment method that settles at once this status means paid.
    calm.sandbox.set_status(source, "consumed")
    wait_until(lambda: payment_state(calm, source) == "paid", 60, "the payment is reported as paid")
    found = reconcile(calm)[1][source]
    assert found["class"] == "unpaid" and "no charge succeeded" in found["message"]
    assert "charge" not in found or found["charge"] is None
