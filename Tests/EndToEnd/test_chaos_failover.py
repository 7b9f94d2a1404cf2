"""Failovers that lose acknowledged writes, made on purpose rather than waited for."""

from chaos.run import Plan, Run
from harness.cluster import WEBHOOK_SECRET, Cluster
from harness.redis_cluster import RedisCluster
from harness.waiting import wait_until
from harness.webhook_sink import WebhookSink

SINKS = 6


def lose_the_last_writes(cluster: Cluster, source: str, statuses: tuple[str, ...]) -> None:
    """Records these statuses on a master whose replica sleeps, and lets the replica take over."""
    redis: RedisCluster = cluster.redis
    master = cluster.busy_master()
    replica = redis.replica_of(master)
    before = len(cluster.api.events(source))
    replica.freeze()
    with master.client() as client:
        # Else what comes now would wait in the sleeper's socket and be read after all.
        client.execute_command("CLIENT", "KILL", "TYPE", "replica")
    for status in statuses:
        cluster.sandbox.set_status(source, status)
        cluster.wait_status(source, status)
    cluster.wait_delivered([source], mail=False)
    master.kill9()
    replica.thaw()
    redis.wait_failover(master)
    master.start()
    redis.wait_whole()
    # What makes this test: the new master has never heard of them.
    logged = wait_until(lambda: _logged(cluster, source), 20, "the API reads again")
    assert [event["status"] for event in logged[:before]] == ["pending"] * before
    assert len(logged) < before + len(statuses), "nothing was lost"


def _logged(cluster: Cluster, source: str) -> list[dict] | None:
    answer = cluster.api.request("GET", f"/v1/watches/{source}/events")
    return answer.json()["data"] if answer.ok else None


def test_after_a_cluster_lost_events_every_endpoint_is_told_the_last_status(chaos):
    cluster: Cluster = chaos(store="cluster", fsync="everysec", listen=False)
    # Their deliveries are in partitions of other masters, whose cursors survive.
    sinks = [WebhookSink(WEBHOOK_SECRET) for _ in range(SINKS)]
    try:
        source = cluster.sandbox.create_source()
        notify = [cluster.webhook.url, *(sink.url for sink in sinks)]
        cluster.enqueue(source, notify=notify, timeout="24h")
        cluster.wait_status(source, "pending")
        cluster.wait_delivered([source], mail=False)
        lose_the_last_writes(cluster, source, ("chargeable", "pending", "chargeable"))
        cluster.sandbox.set_status(source, "consumed")
        cluster.wait_status(source, "consumed", timeout_s=30)
        last = cluster.api.events(source)[-1]

        def untold() -> list[int]:
            return [n for n, sink in enumerate(sinks) if last["id"] not in sink.receipts.ids()]

        try:
            wait_until(lambda: not untold(), 20, "the last event at every endpoint")
        except AssertionError:
            pass
        assert not untold(), (
            f"{len(untold())} of {SINKS} endpoints were never told of seq {last['seq']}, "
            f"{last['status']}; they had {[r.seq for r in sinks[untold()[0]].receipts.all()]}"
        )
        assert cluster.fsck().returncode == 0, cluster.fsck().stdout
    finally:
        for sink in sinks:
            sink.close()


def test_a_slot_may_move_to_another_master_while_it_is_used(chaos):
    plan = Plan("cluster", seed=31, seconds=10, sources=60, kinds=frozenset({"slot moved"}))
    run = Run(plan)
    run.on(run.cluster(chaos))
    print(run.figures.text())
    run.verdict()
    assert run.figures.faults["slot moved"] >= 2
