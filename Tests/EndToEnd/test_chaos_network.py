"""Tests network faults: a partitioned master that still accepts writes, and slow, stalled or cut connections."""

import pytest
from chaos.run import Plan, Run
from harness.cluster import SHORT_LEASE, Cluster
from harness.poller_api import PollerAPI
from harness.waiting import wait_until
from harness.way import Island

needs_owners = pytest.mark.skipif(
    not Island.can_be_made(), reason="this system does not tell whose port it is (/proc/net/tcp)"
)

TO_REDIS = {"way to redis slow", "way to redis stalled", "way to redis cut"}
TO_RECEIVERS = {"way to receiver slow", "way to receiver stalled", "way to receiver cut"}


def judged(chaos, plan: Plan) -> Run:
    run = Run(plan)
    run.on(run.cluster(chaos))
    print(run.figures.text())
    run.verdict()
    return run


# With 2, both replicas are waited for, because a write that only one has is lost if the other is promoted.
@needs_owners
@pytest.mark.long
@pytest.mark.parametrize("wait_replicas", [0, 2])
def test_half_of_the_processes_may_use_a_replaced_master(chaos, wait_replicas: int):
    kinds = frozenset({"master cut off", "api killed"})
    plan = Plan(
        "divided", seed=53, seconds=20, sources=60, wait_replicas=wait_replicas, kinds=kinds
    )
    figures = judged(chaos, plan).figures
    assert figures.faults["master cut off"] >= 1
    assert figures.stray, "the master on its island recorded nothing: the test met no trouble"


@needs_owners
@pytest.mark.parametrize("wait_replicas", [pytest.param(0, marks=pytest.mark.long), 1])
def test_an_isolated_master_accepts_no_watch_if_the_api_waits_for_replicas(
    chaos, wait_replicas: int
):
    env = SHORT_LEASE | {"POLLER_WAIT_REPLICAS": str(wait_replicas), "POLLER_WAIT_TIMEOUT": "500ms"}
    cluster: Cluster = chaos(store="divided", apis=2, listen=False, env=env)
    inside, outside = (PollerAPI(role.address("api")) for role in cluster.apis)
    one, other = cluster.sandbox.create_sources(2)
    old = cluster.redis.master()
    cluster.redis.cut_off(old, [cluster.apis[0], cluster.workers[0]])
    try:
        cluster.redis.wait_failover(old)
        answer = inside.enqueue(one, notify=[cluster.webhook.url])
        assert answer.status_code == (503 if wait_replicas else 201), answer.text
        wait_until(
            lambda: outside.enqueue(other, notify=[cluster.webhook.url]).status_code in (200, 201),
            60,
            "the other side accepts",
        )
        if not wait_replicas:
            wait_until(lambda: _is_recorded(inside, one), 60, "the isolated worker polls the accepted watch")
    finally:
        cluster.redis.join()
    cluster.redis.wait_replicas(2)
    if not wait_replicas:
        # On a busy machine the new master may be replaced too, and the write may be lost without waiting for its
        # replica.
        assert outside.enqueue(other, notify=[cluster.webhook.url]).ok
    wait_until(lambda: _is_recorded(outside, other), 60, "accepted watches are polled")
    cluster.sandbox.set_status(other, "consumed")
    cluster.wait_delivered([other], mail=False)
    # Without waiting for replicas this loss is allowed: Redis acknowledged the write and lost it.
    assert outside.request("GET", f"/v1/watches/{one}").status_code == 404
    told = {receipt.event for receipt in cluster.webhook.receipts.of(one)}
    assert not (wait_replicas and told), "the isolated master delivered an event that no replica had"
    assert cluster.fsck().returncode == 0, cluster.fsck().stdout


@needs_owners
@pytest.mark.parametrize("wait_replicas", [pytest.param(0, marks=pytest.mark.long), 1])
def test_an_isolated_master_delivers_no_event_that_its_replicas_lack(chaos, wait_replicas: int):
    env = SHORT_LEASE | {"POLLER_WAIT_REPLICAS": str(wait_replicas), "POLLER_WAIT_TIMEOUT": "500ms"}
    cluster: Cluster = chaos(store="divided", apis=2, workers=1, listen=False, env=env)
    inside, outside = (PollerAPI(role.address("api")) for role in cluster.apis)
    source = cluster.sandbox.create_source()
    # The endpoint refuses the shared event until the isolated side has recorded a further event, and then gets it
    # again.
    cluster.webhook.refuse(1000)
    cluster.enqueue(source, notify=[cluster.webhook.url])
    wait_until(lambda: cluster.webhook.attempts, 60, "the first event is tried")
    old = cluster.redis.master()
    cluster.redis.cut_off(old, [cluster.apis[0], cluster.workers[0], cluster.notifiers[0]])
    try:
        cluster.sandbox.set_status(source, "chargeable")
        found = wait_until(lambda: _with_status(inside, source, "chargeable"), 60, "the island records it")
        cluster.webhook.refuse(0)
        stray = found["id"]
        if wait_replicas:
            held = "replicas have it in time"
            wait_until(lambda: held in inside.request("GET", "/v1/deliveries").text, 200, "the delivery shows why it waits")
        else:
            wait_until(lambda: stray in cluster.webhook.receipts.ids(), 200, "the isolated notifier delivers the event")
        # No worker outside the partition polls, so this status is recorded only on the side that survives.
        cluster.sandbox.set_status(source, "failed")
        cluster.redis.wait_failover(old)
    finally:
        cluster.redis.join()
    cluster.redis.wait_replicas(2)
    wait_until(lambda: outside.watch(source)["status"] == "failed", 60, "the current status is recorded")
    # The fourth attempt follows two minutes after the third.
    cluster.wait_delivered([source], 200, mail=False)
    assert stray not in {event["id"] for event in outside.events(source)}, "the island's was kept"
    assert (stray in cluster.webhook.receipts.ids()) == (not wait_replicas)


def _with_status(api: PollerAPI, source: str, status: str) -> dict | None:
    return next((event for event in api.events(source) if event["status"] == status), None)


def _is_recorded(api: PollerAPI, source: str) -> bool:
    answer = api.request("GET", f"/v1/watches/{source}/events")
    return answer.ok and bool(answer.json()["data"])


@pytest.mark.long
def test_connections_may_be_slow_stalled_or_cut(chaos):
    # With this seed, each of the six faults occurs once before any occurs twice.
    plan = Plan("distant", seed=148, seconds=26, faults_min=4, kinds=frozenset(TO_REDIS | TO_RECEIVERS))
    figures = judged(chaos, plan).figures
    assert len(figures.faults) >= 4, figures.faults
