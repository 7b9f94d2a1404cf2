"""Tests automatic refunds of duplicate payments: each is refunded once, if the account has enabled it."""

import pytest
from test_charging import a_second_after, charges_of, create
from test_configured import check
from test_orders import order_events, order_of, watch

from harness.cluster import SHORT_LEASE, Cluster
from harness.waiting import wait_until


@pytest.fixture
def wishing(tmp_path):
    path = tmp_path / "poller.yaml"
    path.write_text("accounts:\n  default:\n    refund_duplicates: true\n")
    return {"POLLER_CONFIG_FILE": str(path)}


def refunds_of(cluster: Cluster, charge: str) -> list[dict]:
    return cluster.sandbox._stripe("GET", f"/v1/refunds?charge={charge}&limit=100")["data"]


def paid_twice(cluster: Cluster, order: str) -> tuple[str, str]:
    """Returns two sources that paid the same order, each charged by the shop itself."""
    first, second = create(cluster, type="ideal"), create(cluster, type="ideal")
    for source in (first, second):
        watch(cluster, source, order)
        cluster.wait_status(source, "pending")
        cluster.authorise(source)
    for source in (first, second):
        cluster.sandbox.charge(source)
        wait_until(lambda: payment_state(cluster, source) in ("paid", "refunded"), 60, f"{source} is paid")
        a_second_after(charges_of(cluster, source)[0])
    return first, second


def payment_state(cluster: Cluster, source: str) -> str:
    return cluster.api.watch(source).get("payment", {}).get("state", "")


def refunded(cluster: Cluster, source: str, timeout_s: float = 60) -> dict:
    wait_until(lambda: payment_state(cluster, source) == "refunded", timeout_s, f"{source} is refunded")
    wait_until(lambda: cluster.api.watch(source)["state"] == "closed", timeout_s, f"{source} is closed")
    return cluster.api.watch(source)


def payments(cluster: Cluster, source: str) -> list[str]:
    return [event["type"] for event in cluster.api.events(source) if event["type"].startswith("payment.")]


def test_the_second_payment_is_refunded_and_the_first_is_kept(chaos, wishing):
    cluster: Cluster = chaos(workers=1, listen=False, env=wishing)
    first, second = paid_twice(cluster, "D-1")
    end = refunded(cluster, second)
    assert (end["payment"]["reason"], end["closed_reason"], end["status"]) == ("duplicate", "settled", "consumed")
    assert (end["payment"]["amount_received"], end["payment"]["amount_returned"]) == (1099, 1099)
    (charge,) = charges_of(cluster, second)
    (refund,) = refunds_of(cluster, charge["id"])
    assert (refund["amount"], refund["reason"], refund["metadata"]) == (1099, "duplicate", {"poller_order": "D-1"})
    assert payments(cluster, second) == ["payment.authorised", "payment.paid", "payment.refunded"]
    assert payment_state(cluster, first) == "paid" and refunds_of(cluster, charges_of(cluster, first)[0]["id"]) == []
    order = wait_until(lambda: "also_paid_by" not in order_of(cluster, "D-1") and order_of(cluster, "D-1"), 60, "noted")
    assert order["paid_by"] == first and order["payment"]["state"] == "paid"
    assert [event["type"] for event in order_events(cluster, "D-1")].count("order.paid_twice") == 1
    # A poll after a hint, such as Stripe's event about the refund, repeats neither the event nor the refund.
    looks = len(cluster.api.events(second))
    cluster.sandbox._stripe("POST", f"/v1/charges/{charge['id']}", {"description": "looked at again"})
    cluster.api.request("POST", f"/v1/watches/{second}/poll")
    assert len(cluster.api.events(second)) == looks and len(refunds_of(cluster, charge["id"])) == 1


def test_a_second_payment_within_one_second_is_refunded(chaos, wishing):
    cluster: Cluster = chaos(workers=1, listen=False, env=wishing)
    for order in ("D-4", "D-5", "D-6"):
        first, second = create(cluster, type="ideal"), cluster.sandbox.create_intent(1099)
        for source in (first, second):
            watch(cluster, source, order)
        cluster.wait_status(first, "pending")
        cluster.authorise(first)
        cluster.sandbox.charge(first)
        wait_until(lambda: payment_state(cluster, first) == "paid", 60, f"{first} is paid")
        cluster.sandbox.authorise(second)
        wait_until(lambda: "refunded" in {payment_state(cluster, source) for source in (first, second)}, 60, "a refund")
        (charge,) = charges_of(cluster, first)
        latest = cluster.sandbox._stripe("GET", f"/v1/payment_intents/{second}?expand[]=latest_charge")["latest_charge"]
        kept, returned = first, second
        if payment_state(cluster, first) == "refunded":
            # Stripe's times have seconds only, and of two payments in the same second the smaller ID counts as the first.
            assert charge["created"] == latest["created"]
            (kept, returned), latest = (second, first), charge
        end = refunded(cluster, returned)
        assert (end["payment"]["reason"], end["status"] in ("succeeded", "consumed")) == ("duplicate", True)
        (refund,) = refunds_of(cluster, latest["id"])
        assert (refund["amount"], refund["metadata"]) == (1099, {"poller_order": order})
        assert payment_state(cluster, kept) == "paid" and order_of(cluster, order)["paid_by"] == kept


def test_a_payment_watched_twice_is_not_refunded(chaos, wishing):
    """The shop watches an intent and then its charge for the same order, or the other way round."""
    cluster: Cluster = chaos(workers=1, listen=False, env=wishing)
    for order, is_charge_first in (("D-8", False), ("D-9", True)):
        intent = cluster.sandbox.create_intent(1099)
        cluster.sandbox.authorise(intent)
        paid = wait_until(lambda: paid_intent(cluster, intent), 60, f"{intent} is paid")
        pair = [intent, paid["latest_charge"]]
        for source in reversed(pair) if is_charge_first else pair:
            watch(cluster, source, order)
            wait_until(lambda: payment_state(cluster, source) == "paid", 60, f"{source} is paid")
        (second,) = wait_until(lambda: order_of(cluster, order).get("also_paid_by"), 60, "the order seems paid twice")
        wait_until(lambda: any(second in line for line in not_refunded(cluster)), 60, "the refund is rejected")
        assert all("the same charge" in line for line in not_refunded(cluster))
        assert refunds_of(cluster, pair[1]) == [] and {payment_state(cluster, source) for source in pair} == {"paid"}


def paid_intent(cluster: Cluster, intent: str) -> dict | None:
    found = cluster.sandbox._stripe("GET", f"/v1/payment_intents/{intent}")
    return found if found["status"] == "succeeded" else None


def not_refunded(cluster: Cluster) -> list[str]:
    log = cluster.workers[0].stderr()
    return [line for line in log.splitlines() if "a duplicate payment was not refunded" in line]


def test_a_rejected_refund_is_not_reported_as_made(chaos, wishing):
    cluster: Cluster = chaos(workers=1, listen=False, env=wishing)
    error = {"error": {"type": "invalid_request_error", "code": "charge_disputed", "message": "no"}}
    cluster.sandbox.fault("status", match="/v1/refunds", method="POST", status=400, body=error)
    _, second = paid_twice(cluster, "D-7")
    wait_until(lambda: order_of(cluster, "D-7").get("also_paid_by") == [second], 60, "paid twice")
    wait_until(lambda: cluster.api.watch(second)["run"] > 1, 60, "polled for its refund")
    wait_until(lambda: cluster.api.watch(second)["state"] == "closed", 60, "closed")
    assert payment_state(cluster, second) == "paid" and refunds_of(cluster, charges_of(cluster, second)[0]["id"]) == []
    told = wait_until(lambda: not_refunded(cluster), 60, "the rejection is logged")
    assert all(second in line and "D-7" in line and "charge_disputed" in line for line in told), told


def test_refunds_of_duplicates_are_disabled_by_default(chaos):
    cluster: Cluster = chaos(workers=1, listen=False)
    first, second = paid_twice(cluster, "D-3")
    wait_until(lambda: order_of(cluster, "D-3").get("also_paid_by") == [second], 60, "paid twice")
    wait_until(lambda: cluster.api.watch(second)["state"] == "closed", 60, "closed")
    assert (payment_state(cluster, first), payment_state(cluster, second)) == ("paid", "paid")
    assert [refunds_of(cluster, charges_of(cluster, source)[0]["id"]) for source in (first, second)] == [[], []]


def test_a_refund_is_made_and_reported_once_despite_kills(chaos, wishing):
    cluster: Cluster = chaos(workers=2, notifiers=2, listen=False, env=SHORT_LEASE | wishing)
    orders = {f"D-{n}": [create(cluster, type="ideal") for _ in range(2)] for n in range(10, 18)}
    sources = [source for tries in orders.values() for source in tries]
    for name, tries in orders.items():
        for source in tries:
            watch(cluster, source, name)
            cluster.wait_status(source, "pending")
            cluster.sandbox.authorise(source)
    for source in sources:
        cluster.wait_status(source, "chargeable")
    # Each refund takes effect at once and its answer is delayed, so workers die in between.
    slow = cluster.sandbox.fault("delay", match="/v1/refunds", method="POST", delay_ms=900)
    for source in sources:
        cluster.sandbox.charge(source)
    charges = {source: charges_of(cluster, source)[0]["id"] for source in sources}
    wait_until(lambda: any(refunds_of(cluster, charge) for charge in charges.values()), 60, "a first refund")
    doomed = [*cluster.workers, *cluster.notifiers]
    for number in range(8):
        process = doomed[number % len(doomed)]
        process.kill9()
        process.start().wait_ready()
    cluster.sandbox.clear_fault(slow)
    for name, tries in orders.items():
        wait_until(
            lambda: sorted(payment_state(cluster, source) for source in tries) == ["paid", "refunded"], 90, f"{name} is paid once"
        )
    for source in sources:
        back = refunds_of(cluster, charges[source])
        said = payments(cluster, source)
        if payment_state(cluster, source) == "paid":
            assert back == [] and "payment.refunded" not in said
            continue
        assert len(back) == 1 and back[0]["status"] == "succeeded"
        assert said.count("payment.refunded") == 1, said
        assert cluster.api.watch(source)["payment"]["reason"] == "duplicate"
    assert not cluster.fsck().returncode, cluster.fsck().stdout


@pytest.mark.parametrize("account, said", [
    ("  default:\n    refund_duplicates: perhaps\n", "refund_duplicates must be true or false"),
    ("  acme:\n    stripe_api_key: {env: PUBLIC}\n    refund_duplicates: true\n", "refund_duplicates needs a secret key"),
])
def test_an_invalid_setting_is_rejected_at_startup(tmp_path, account: str, said: str):
    done = check(tmp_path, "accounts:\n" + account)
    assert done.returncode == 78 and said in done.stderr, done.stderr
    shown = check(tmp_path, "accounts:\n  default:\n    refund_duplicates: true\n")
    assert shown.returncode == 0 and "account default, refunds duplicates" in shown.stdout
