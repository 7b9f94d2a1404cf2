"""Tests workers that crash, stall or stop in the middle of a poll."""

import time

from harness.cluster import LEASE_S, POLL_TIMEOUT_S, SHORT_LEASE, Cluster, Role
from harness.waiting import wait_until

# The tolerated difference between request times at the sandbox and leases in Redis, because many processes share
# two cores. The guarantee itself is lease + 1 s; test_chaos_recovery measures it on a quiet machine.
MARGIN_MS = 10_000
# A poll that the sandbox delays must not time out, also on a busy machine.
PATIENT = {"POLLER_LEASE": "12s", "POLLER_POLL_TIMEOUT": "10s", "POLLER_DRAIN_TIMEOUT": "30s"}


def polled_by_first(cluster: Cluster, fault: str, **plan) -> tuple[str, Role, Role]:
    """Returns a source whose first poll misbehaves, claimed by the first worker while the second is frozen."""
    first, second = cluster.workers
    second.freeze()
    source = cluster.sandbox.create_source()
    cluster.misbehaviour = cluster.sandbox.fault(fault, match=f"/v1/sources/{source}", times=1, **plan)
    cluster.enqueue(source)
    wait_until(lambda: cluster.sandbox.polls(source), 60, "the first worker polls")
    return source, first, second


def settle_and_verify(cluster: Cluster, source: str) -> None:
    cluster.wait_status(source, "pending")
    cluster.authorise(source)
    cluster.charge(source)
    cluster.verify([source])


def test_a_source_of_a_killed_worker_is_polled_again_within_lease_plus_one_second(chaos):
    cluster = chaos(env=SHORT_LEASE)
    source, first, second = polled_by_first(cluster, "hang")
    second.thaw()
    first.kill9()

    polls = wait_until(
        lambda: (seen := cluster.sandbox.polls(source)) and len(seen) >= 2 and seen,
        60,
        "polled again",
    )
    gap_ms = polls[1]["at_ms"] - polls[0]["at_ms"]
    assert gap_ms <= (LEASE_S + 1) * 1000 + MARGIN_MS
    settle_and_verify(cluster, source)
    assert second.running and first.exit_status == -9


def test_a_worker_that_slept_past_its_lease_cannot_commit(chaos):
    cluster = chaos(env=SHORT_LEASE)
    # The answer, `pending`, waits in the socket while the worker is frozen.
    while True:
        source, first, second = polled_by_first(cluster, "hang")
        first.freeze()
        # A worker that is frozen later has reported the poll's timeout, and holds no lease.
        if time.time() * 1000 - cluster.sandbox.polls(source)[0]["at_ms"] < POLL_TIMEOUT_S * 1000 - 500:
            break
        first.thaw()
    cluster.sandbox.clear_fault(cluster.misbehaviour)
    second.thaw()
    cluster.wait_status(source, "pending")
    cluster.authorise(source)
    recorded = cluster.api.events(source)

    first.thaw()
    wait_until(
        lambda: first.metric("poller_leases_lost_total") >= 1, 60, "the first worker's lost lease"
    )
    assert cluster.api.events(source) == recorded, "a result under a lost lease was recorded"
    assert cluster.api.watch(source)["status"] == "chargeable"
    cluster.charge(source)
    cluster.verify([source])
    # The worker continues to run.
    assert first.running and first.admin("/readyz").status_code == 200


def test_sigterm_lets_a_running_poll_finish_and_exits_with_zero(chaos):
    cluster = chaos(env=PATIENT)
    source, first, second = polled_by_first(cluster, "delay", delay_ms=1200)
    assert first.terminate() == 0
    # The second worker is still frozen, so the stopping worker has recorded the event.
    assert [event["status"] for event in cluster.api.events(source)] == ["pending"]
    second.thaw()
    settle_and_verify(cluster, source)


def test_claims_that_a_stopping_worker_did_not_start_are_polled_by_another(chaos):
    cluster = chaos(listen=False, env=PATIENT | {"POLLER_WORKER_CONCURRENCY": "1"})
    first, second = cluster.workers
    second.freeze()
    sources = cluster.sandbox.create_sources(5)
    fault = cluster.sandbox.fault("delay", delay_ms=1500)
    for source in sources:
        cluster.enqueue(source)
    wait_until(lambda: any(cluster.sandbox.polls(s) for s in sources), 60, "the first poll")
    assert first.terminate() == 0
    cluster.sandbox.clear_fault(fault)
    second.thaw()
    for source in sources:
        cluster.wait_status(source, "pending")
    for source in sources:
        seen = cluster.sandbox.polls(source)
        assert seen[0]["status"] == 200


def test_starting_and_stopping_workers_loses_no_event(chaos):
    cluster = chaos(env=SHORT_LEASE)
    sources = cluster.sandbox.create_sources(60)
    for source in sources:
        cluster.enqueue(source)
    for worker in cluster.workers:
        worker.kill9()
        worker.start().wait_ready()
    for source in sources:
        cluster.sandbox.set_status(source, "chargeable")
    cluster.workers[0].kill9()
    for source in sources:
        cluster.wait_status(source, "chargeable")
    cluster.workers[0].start().wait_ready()
    for source in sources:
        cluster.sandbox.set_status(source, "consumed")
    for source in sources:
        cluster.wait_status(source, "consumed")
    cluster.verify(sources)
