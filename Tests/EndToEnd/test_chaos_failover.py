"""Tests failovers that deliberately lose acknowledged writes."""

import binascii
import re

import pytest
from chaos.run import Plan, Run
from harness.cluster import SHORT_LEASE, WEBHOOK_SECRET, Cluster
from harness.redis_cluster import RedisCluster
from harness.redis_server import RedisServer
from harness.stream_client import StreamClient
from harness.waiting import wait_until
from harness.webhook_sink import WebhookSink

# Chaos runs are marked `alone`, because their load starts too late if other tests use the cores.
SINKS = 6


def lose_the_last_writes(
    cluster: Cluster, source: str, statuses: tuple[str, ...], then: str | None = None
) -> list[dict]:
    """Records these statuses on a master whose replica is frozen, then lets the replica take over.

    `then` is the source's next status while no master serves it. Returns the delivered events.
    """
    redis: RedisCluster = cluster.redis
    master = cluster.busy_master()
    before = len(cluster.api.events(source))
    replica = redis.part(master)
    for status in statuses:
        cluster.set_status(source, status)
    cluster.wait_delivered([source], mail=False)
    told = cluster.api.events(source)
    master.kill9()
    if then:
        cluster.sandbox.set_status(source, then)
    replica.thaw()
    redis.wait_failover(master)
    master.start()
    redis.wait_whole()
    # The precondition of the test: the new master never received these events.
    logged = wait_until(lambda: _logged(cluster, source), 60, "the API reads again")
    assert [event["status"] for event in logged[:before]] == ["pending"] * before
    kept = {event["id"] for event in logged}
    assert not kept.issuperset(event["id"] for event in told), "nothing was lost"
    return told


def _logged(cluster: Cluster, source: str) -> list[dict] | None:
    answer = cluster.api.request("GET", f"/v1/watches/{source}/events")
    return answer.json()["data"] if answer.ok else None


def test_after_a_cluster_lost_events_every_endpoint_receives_the_last_status(chaos):
    cluster: Cluster = chaos(store="cluster", listen=False, env=SHORT_LEASE)
    # The deliveries are in partitions of other masters, whose cursors survive.
    sinks = [WebhookSink(WEBHOOK_SECRET) for _ in range(SINKS)]
    try:
        source = cluster.sandbox.create_source()
        notify = [cluster.webhook.url, *(sink.url for sink in sinks)]
        cluster.follow(source, notify=notify, timeout="24h")
        cluster.wait_delivered([source], mail=False)
        lose_the_last_writes(cluster, source, ("chargeable", "pending", "chargeable"))
        cluster.set_status(source, "consumed")
        last = cluster.api.events(source)[-1]

        def untold() -> list[int]:
            return [n for n, sink in enumerate(sinks) if last["id"] not in sink.receipts.ids()]

        try:
            wait_until(lambda: not untold(), 60, "the last event at every endpoint")
        except AssertionError:
            pass
        assert not untold(), (
            f"{len(untold())} of {SINKS} endpoints never received seq {last['seq']}, "
            f"{last['status']}; they had {[r.seq for r in sinks[untold()[0]].receipts.all()]}"
        )
        assert cluster.fsck().returncode == 0, cluster.fsck().stdout
    finally:
        for sink in sinks:
            sink.close()


def test_an_event_that_reuses_the_seq_of_a_lost_one_is_delivered(chaos):
    cluster: Cluster = chaos(store="cluster", listen=False, env=SHORT_LEASE)
    sinks = [WebhookSink(WEBHOOK_SECRET) for _ in range(SINKS)]
    try:
        source = cluster.sandbox.create_source()
        notify = [cluster.webhook.url, *(sink.url for sink in sinks)]
        cluster.follow(source, notify=notify, timeout="24h")
        cluster.wait_delivered([source], mail=False)
        told = lose_the_last_writes(cluster, source, ("chargeable",), then="failed")
        assert [event["type"] for event in told] == ["source.pending", "payment.authorised", "source.chargeable"]
        cluster.wait_status(source, "failed")
        now = cluster.api.events(source)
        assert [event["type"] for event in now] == ["source.pending", "payment.failed", "source.failed"]
        assert [event["seq"] for event in now] == [event["seq"] for event in told]
        taken = {event["id"] for event in now[1:]}
        assert taken.isdisjoint(event["id"] for event in told)
        wait_until(
            lambda: all(taken <= sink.receipts.ids() for sink in sinks),
            60,
            "the events under the numbers of others at every endpoint",
        )
    finally:
        for sink in sinks:
            sink.close()


def _deliveries(cluster: Cluster) -> dict[str, str]:
    """Returns the partition of the delivery to each inline URL."""
    found = {}
    with cluster.redis.client() as client:
        for key in client.scan_iter(match="poller:d:w*"):
            found[client.hget(key, "w")] = re.match(r"poller:d:w\{(\d+)\}", key).group(1)
    return found


def _is_noted(cluster: Cluster, partitions: list[str]) -> bool:
    with cluster.redis.client() as client:
        return all(client.hget(f"poller:d:m{{{p}}}", "whole") for p in partitions)


def test_the_last_event_is_delivered_after_a_shard_lost_its_delivery_marks(chaos):
    cluster: Cluster = chaos(store="cluster", listen=False, env=SHORT_LEASE)
    redis: RedisCluster = cluster.redis
    sinks = [WebhookSink(WEBHOOK_SECRET) for _ in range(16)]
    try:
        source = cluster.follow_new(notify=[sink.url for sink in sinks], timeout="24h")
        wait_until(lambda: all(sink.receipts.all() for sink in sinks), 60, "all endpoints have the first event")
        # Selects a master that stores deliveries but not the watch, so that only its marks are lost.
        places = _deliveries(cluster)
        by_master: dict[RedisServer, list[WebhookSink]] = {}
        for sink in sinks:
            by_master.setdefault(redis.master_of(places[sink.url]), []).append(sink)
        by_master.pop(cluster.busy_master(), None)
        master, hurt = max(by_master.items(), key=lambda found: len(found[1]))
        wait_until(
            lambda: _is_noted(cluster, [places[sink.url] for sink in hurt]), 60, "marks are noted"
        )
        for sink in hurt:
            sink.refuse(1000)
        replica = redis.part(master)
        cluster.set_status(source, "failed")
        last = cluster.api.events(source)[-1]
        assert last["final"]
        # The event was marked and tried. The outbox entry is acknowledged, so it will not be read again.
        wait_until(lambda: all(len(s.attempts) > 1 for s in hurt), 60, "the end is tried")
        with redis.client() as client:
            outbox = f"poller:e{{{cluster.busy_partitions()[0]}}}"
            wait_until(
                lambda: client.xpending(outbox, "notifier")["pending"] == 0, 60, "acknowledged"
            )
        master.kill9()
        for sink in hurt:
            sink.refuse(0)
        replica.thaw()
        redis.wait_failover(master)
        master.start()
        redis.wait_whole()
        wait_until(
            lambda: all(last["id"] in sink.receipts.ids() for sink in sinks),
            60,
            "the end of the payment at every endpoint",
        )
        assert cluster.fsck().returncode == 0, cluster.fsck().stdout
    finally:
        for sink in sinks:
            sink.close()


def _answer(cluster: Cluster, path: str) -> dict:
    """Returns the response body, or an empty object while the store is unreachable."""
    answer = cluster.api.request("GET", path)
    return answer.json() if answer.ok else {}


def _away_shard(cluster: Cluster) -> tuple[RedisServer, str]:
    """Returns a master, and an account whose orders it stores while its watches share the default account's outbox.

    The master stores neither the registry, which every delivery needs, nor any data of the default account.
    """
    redis: RedisCluster = cluster.redis
    with redis.client() as client:
        total = int(client.hget("poller:layout", "partitions"))
    owners = [redis.master_of(str(partition)) for partition in range(total)]

    def place(account: str, kind: str) -> int:
        return binascii.crc_hqx(f"{account}/{kind}".encode(), 0) % total

    home = place("default", "sources")
    needed = [owners[0], owners[home]]
    away = next(master for master in redis.masters() if master not in needed)
    near = (f"acct_{n}" for n in range(100_000) if place(f"acct_{n}", "sources") == home)
    account = next(
        name for name in near
        if owners[place(name, "orders")] is away and redis.master_of(name) is not away
    )
    return away, account


def test_an_unavailable_shard_delays_only_its_own_data(chaos):
    cluster: Cluster = chaos(store="cluster", listen=False, env=SHORT_LEASE)
    redis: RedisCluster = cluster.redis
    for server in redis.servers:
        with server.client() as client:
            # By default, a Redis Cluster with a missing shard serves no request.
            client.config_set("cluster-require-full-coverage", "no")
    away, account = _away_shard(cluster)
    sinks = [WebhookSink(WEBHOOK_SECRET) for _ in range(SINKS)]
    notifier = cluster.notifiers[0]
    try:
        held = cluster.sandbox.create_source(account=account)
        told = cluster.sandbox.create_source()
        heard = cluster.enqueue_new(timeout="24h")
        cluster.enqueue(held, account=account, order="A-1", notify=[], timeout="24h")
        cluster.enqueue(told, notify=[sink.url for sink in sinks], timeout="24h")
        wait_until(lambda: all(sink.receipts.all() for sink in sinks), 60, "all endpoints have the first event")
        order = f"/v1/orders/A-1?account={account}"
        cluster.api.get(order)
        places = _deliveries(cluster)
        there = [sink for sink in sinks if redis.master_of(places[sink.url]) is not away]
        assert there, "no delivery lies in another shard"

        # The notifier is frozen, so that it later reads both events together, the affected account's first.
        notifier.freeze()
        replica = redis.replica_of(away)
        replica.kill9()
        away.kill9()
        cluster.sandbox.set_status(held, "failed")
        path = f"/v1/watches/{held}?account={account}"
        wait_until(lambda: _answer(cluster, path).get("status") == "failed", 60, "the other has failed")
        cluster.sandbox.set_status(told, "failed")
        cluster.wait_status(told, "failed", timeout_s=60)
        last = cluster.api.events(told)[-1]
        notifier.thaw()
        wait_until(
            lambda: all(last["id"] in sink.receipts.ids() for sink in there),
            60,
            "the last event of the payment in an available shard",
        )
        # A client that connects meanwhile receives the events of the remaining shards.
        late = StreamClient(notifier.address("gateway"))
        try:
            cluster.sandbox.set_status(heard, "failed")
            wait_until(
                lambda: any(r.source == heard and r.status == "failed" for r in late.receipts.all()),
                60,
                "a client that connected late gets the event",
            )
        finally:
            late.close()
        for role in (notifier, *cluster.apis, *cluster.workers):
            ready = role.admin("/readyz")
            assert (ready.status_code, ready.text.splitlines()[0]) == (200, "ok"), ready.text
        assert f"1 of 3 masters away: {away.address}" in notifier.admin("/readyz").text
        doctor = cluster.api.request("GET", "/v1/doctor", timeout=60).json()
        [said] = [check for check in doctor["checks"] if check["name"] == "redis"]
        assert said["status"] == "failed" and away.address in said["message"], said

        away.start()
        replica.start()
        redis.wait_whole()
        wait_until(
            lambda: _answer(cluster, order).get("payment", {}).get("state") == "failed",
            60,
            "the order knows",
        )
        wait_until(
            lambda: all(last["id"] in sink.receipts.ids() for sink in sinks), 60, "all endpoints have the last event"
        )
        assert cluster.fsck().returncode == 0, cluster.fsck().stdout
    finally:
        for sink in sinks:
            sink.close()


@pytest.mark.alone
def test_no_final_status_is_missing_after_shards_lost_acknowledged_writes(chaos):
    plan = Plan("cluster", seed=41, seconds=12, faults_min=1, sources=60, kinds=frozenset({"shard lost"}))
    run = Run(plan)
    run.on(run.cluster(chaos))
    print(run.figures.text())
    run.verdict()
    assert run.figures.faults["shard lost"] >= 1


@pytest.mark.alone
def test_a_slot_in_use_can_move_to_another_master(chaos):
    plan = Plan("cluster", seed=31, seconds=10, sources=60, kinds=frozenset({"slot moved"}))
    run = Run(plan)
    run.on(run.cluster(chaos))
    print(run.figures.text())
    run.verdict()
    assert run.figures.faults["slot moved"] >= 2
