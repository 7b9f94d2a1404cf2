"""Tests orders: a customer may try to pay several times, and one attempt is charged."""

import json
import urllib.parse

import pytest
from test_charging import a_second_after, charges_of, create

from harness.accepting_shop import Shop
from harness.cluster import SHORT_LEASE, Cluster
from harness.commands import ctl
from harness.waiting import wait_until


@pytest.fixture
def shop():
    shop = Shop()
    yield shop
    shop.close()


def watch(cluster: Cluster, source: str, order: str | None, **fields) -> dict:
    fields = {"policy": "interactive"} | fields
    answer = cluster.api.enqueue(source, **({"order": order} if order else {}), **fields)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def order_of(cluster: Cluster, name: str) -> dict:
    return cluster.api.get(f"/v1/orders/{name}")


def wait_order(cluster: Cluster, name: str, state: str, timeout_s: float = 60) -> dict:
    def look():
        found = order_of(cluster, name)
        return found["payment"]["state"] == state and found

    return wait_until(look, timeout_s, f"order {name} is {state}")


def order_events(cluster: Cluster, name: str) -> list[dict]:
    """Returns the recorded events of an order."""
    return cluster.api.get(f"/v1/orders/{name}/events")["data"]


def test_the_order_is_in_the_watch_and_each_event_until_a_restart(calm: Cluster):
    source = create(calm, type="ideal")
    made = watch(calm, source, "T-1")
    assert made["order"] == "T-1"
    assert watch(calm, source, None)["order"] == "T-1", "a join changes nothing"
    other = calm.api.enqueue(source, order="T-2")
    assert (other.status_code, other.json()["code"]) == (409, "order_mismatch"), other.text
    calm.wait_status(source, "pending")
    calm.authorise(source)
    calm.api.request("DELETE", f"/v1/watches/{source}")
    events = calm.api.events(source)
    assert len(events) >= 3 and {event["order"] for event in events} == {"T-1"}
    assert watch(calm, source, "T-2")["order"] == "T-2", "a closed watch restarts"
    calm.api.request("DELETE", f"/v1/watches/{source}")
    assert "order" not in watch(calm, source, None)
    for wrong in ("", " a", "a\nb", "..", "x" * 256, 7):
        answer = calm.api.enqueue(source, order=wrong)
        assert answer.status_code in (400, 422) and answer.json()["field"] == "order", answer.text


NAMES = ["#1001", "2026/000123", "№ 5", "Bestellung 7/ä", "A+B 100%", "a?b&c=d", "../etc"]


@pytest.mark.parametrize("name", NAMES)
def test_an_order_is_shown_everywhere_under_the_shop_s_name(calm: Cluster, name: str):
    source = create(calm, type="ideal")
    ctl(calm, "enqueue", source, "--order", name, "--policy", "interactive")
    assert json.loads(ctl(calm, "get", source, "--json"))["order"] == name
    calm.sandbox.authorise(source)
    path = urllib.parse.quote(name, safe="")
    wait_until(
        lambda: calm.api.get(f"/v1/orders/{path}")["payment"]["state"] == "authorised",
        60,
        f"order {name} is authorised",
    )
    events = calm.api.get(f"/v1/orders/{path}/events")["data"]
    assert {(event["order"], event["source"]) for event in events} == {(name, name)}
    shown = json.loads(ctl(calm, "order", "get", name, "--json"))
    assert shown["order"] == name and [one["source"] for one in shown["members"]] == [source]
    listed = [json.loads(line) for line in ctl(calm, "order", "list", "--json").splitlines()]
    assert name in [one["order"] for one in listed]
    found = ctl(calm, "list", f'order="{name}"', "--json").splitlines()
    assert [json.loads(line)["source"] for line in found] == [source]
    assert ctl(calm, "timeline", "--order", name)


def test_a_charge_of_an_order_names_it_at_stripe_and_is_made_once(calm: Cluster):
    name = "2026/№ 7 #1"
    source = create(calm, type="ideal")
    watch(calm, source, name, charge=True)
    calm.sandbox.authorise(source)
    wait_until(lambda: charges_of(calm, source), 60, "the source is charged")
    charges = charges_of(calm, source)
    assert [charge["metadata"]["poller_order"] for charge in charges] == [name]


def test_an_order_paid_by_two_attempts_is_reported_as_paid_twice(calm: Cluster, shop: Shop):
    wish = {"url": shop.url, "types": ["order.*"]}
    answer = calm.api.request("POST", "/v1/endpoints", json=wish)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    first, second = create(calm, type="ideal"), create(calm, type="ideal")
    watch(calm, first, "T-3")
    assert wait_order(calm, "T-3", "awaiting_customer")["members"][0]["source"] == first
    watch(calm, second, "T-3")
    for source in (first, second):
        calm.wait_status(source, "pending")
        calm.authorise(source)
    wait_order(calm, "T-3", "authorised")
    calm.sandbox.charge(second)
    paid = wait_order(calm, "T-3", "paid")
    assert paid["paid_by"] == second and "also_paid_by" not in paid
    a_second_after(charges_of(calm, second)[0])
    calm.sandbox.charge(first)
    twice = wait_until(lambda: order_of(calm, "T-3").get("also_paid_by"), 60, "paid twice")
    assert twice == [first]
    events = order_events(calm, "T-3")
    types = [event["type"] for event in events]
    assert types == ["order.authorised", "order.paid", "order.paid", "order.paid_twice"], types
    assert [event["seq"] for event in events] == [1, 2, 3, 4]
    last = events[-1]
    assert last["payment"]["amount_received"] == 2198 and last["order"] == "T-3"
    assert last["object"]["also_paid_by"] == [first]
    assert {member["source"] for member in last["object"]["members"]} == {first, second}
    ids = [event["id"] for event in events]
    wait_until(lambda: len(shop.of("T-3")) >= len(ids), 60, "the endpoint has the events")
    assert [json.loads(body)["id"] for _, body in shop.of("T-3")] == ids
    calm.api.request("DELETE", f"/v1/endpoints/{made['id']}")
    # The list of watches does not contain orders.
    assert "T-3" not in {found["source"] for found in calm.api.watches()}
    assert not calm.fsck().returncode, calm.fsck().stdout


def test_orders_are_shown_by_api_and_command_line(calm: Cluster):
    source = create(calm, type="ideal")
    ctl(calm, "enqueue", source, "--order", "T-4", "--policy", "interactive")
    shown = ctl(calm, "order", "get", "T-4")
    assert "T-4" in shown and source in shown and "awaiting_customer" in shown
    # The first poll may change the order between two reads.
    wait_until(lambda: json.loads(ctl(calm, "order", "get", "T-4", "--json")) == order_of(calm, "T-4"), 60, "both show the same")
    listed = [json.loads(line) for line in ctl(calm, "order", "list", "--json").splitlines()]
    assert listed[0]["order"] == "T-4"
    some = ctl(calm, "order", "list", "--json", "--state", "cancelled")
    assert all(json.loads(line)["payment"]["state"] == "cancelled" for line in some.splitlines())
    missing = calm.api.request("GET", "/v1/orders/nobody")
    assert missing.status_code == 404 and missing.json()["code"] == "order_not_found"
    assert "T-4" in ctl(calm, "get", source)


def test_one_of_two_attempts_to_pay_an_order_is_charged(calm: Cluster):
    sources = [create(calm, type="ideal") for _ in range(6)]
    for source in sources:
        watch(calm, source, "T-5", charge=True)
        calm.wait_status(source, "pending")
    for source in sources:
        calm.sandbox.authorise(source)
    paid = wait_order(calm, "T-5", "paid")
    (one,) = [source for source in sources if charges_of(calm, source)]
    assert paid["paid_by"] == one == paid["charging"]["source"]
    for other in sources:
        if other == one:
            continue
        calm.wait_status(other, "chargeable")
        reason = wait_until(lambda: calm.api.watch(other).get("last_error"), 60, "why it waits")
        assert "T-5" in reason and one in reason
        assert calm.api.watch(other)["charge"]["state"] == "none"
    assert sum(len(charges_of(calm, source)) for source in sources) == 1
    assert [event["type"] for event in order_events(calm, "T-5")].count("order.paid_twice") == 0


def test_after_a_declined_attempt_the_next_one_is_charged(calm: Cluster):
    first = create(
        calm, type="sofort", **{"sofort[country]": "DE", "owner[name]": "failing_charge"}
    )
    second = create(calm, type="ideal")
    watch(calm, first, "T-6", charge=True)
    calm.wait_status(first, "pending")
    calm.sandbox.authorise(first)
    wait_order(calm, "T-6", "failed")
    watch(calm, second, "T-6", charge=True)
    calm.wait_status(second, "pending")
    calm.sandbox.authorise(second)
    paid = wait_order(calm, "T-6", "paid")
    assert paid["paid_by"] == second and paid["charging"]["number"] == 2
    assert [charge["status"] for charge in charges_of(calm, second)] == ["succeeded"]


def test_orders_are_paid_and_reported_once_despite_kills(chaos):
    cluster: Cluster = chaos(workers=2, notifiers=2, listen=False, env=SHORT_LEASE)
    orders = {f"K-{n}": [create(cluster, type="ideal") for _ in range(3)] for n in range(12)}
    sources = [source for tries in orders.values() for source in tries]
    # Each charge takes effect at once and its answer is delayed, so workers die in between.
    slow = cluster.sandbox.fault("delay", match="/v1/charges", method="POST", delay_ms=900)
    for name, tries in orders.items():
        for source in tries:
            watch(cluster, source, name, charge=True)
    for source in sources:
        cluster.sandbox.authorise(source)
    wait_until(lambda: any(charges_of(cluster, source) for source in sources), 60, "a first charge")
    doomed = [*cluster.workers, *cluster.notifiers]
    for number in range(12):
        process = doomed[number % len(doomed)]
        process.kill9()
        process.start().wait_ready()
    cluster.sandbox.clear_fault(slow)
    for name in orders:
        wait_order(cluster, name, "paid", 90)
    # Poll all sources, so that the attempts that are still to be refused have been decided.
    for source in sources:
        cluster.api.request("POST", f"/v1/watches/{source}/poll")
    for name, tries in orders.items():
        charged = [source for source in tries if charges_of(cluster, source)]
        assert len(charged) == 1, f"{name} was charged by {charged}"
        order = order_of(cluster, name)
        assert order["paid_by"] == charged[0] == order["charging"]["source"]
        assert len(charges_of(cluster, charged[0])) == 1
        types = [event["type"] for event in order_events(cluster, name)]
        assert types.count("order.paid") == 1 and "order.paid_twice" not in types, types
        assert [event["seq"] for event in order_events(cluster, name)] == list(range(1, len(types) + 1))
    assert not cluster.fsck().returncode, cluster.fsck().stdout
