"""Tests that a running cluster neither freezes nor expires items when Redis' clock is set back or forward."""

import time

import pytest

from harness.cluster import SHORT_LEASE, Cluster
from harness.faked_clock import FakedClock
from harness.preloaded import IS_HERE
from harness.waiting import wait_until

HOUR_S = 3600
DAY_S = 24 * HOUR_S

pytestmark = pytest.mark.skipif(not IS_HERE, reason="needs a C compiler on Linux")


@pytest.fixture
def faked(chaos, tmp_path) -> tuple[Cluster, FakedClock]:
    clock = FakedClock(tmp_path / "clock")
    return chaos(env=SHORT_LEASE, redis_env=clock.env), clock


@pytest.mark.parametrize("step_s", [-HOUR_S, pytest.param(-DAY_S, marks=pytest.mark.long)])
def test_polls_and_deliveries_continue_after_the_clock_is_set_back(faked, step_s):
    cluster, clock = faked
    old, settled = cluster.sandbox.create_sources(2)
    for source in (old, settled):
        cluster.follow(source)
    # A delivery in progress at the moment of a clock step may arrive twice, as after a crash.
    cluster.wait_done([old, settled])
    clock.set(step_s)
    with cluster.redis.client() as client:
        behind = time.time() - client.time()[0]
        assert abs(behind + step_s) < 60, f"the clock of Redis is {behind:.0f} s behind"

    # A new watch, a hint and an older watch must not wait until the clock has caught up.
    (new,) = cluster.sandbox.create_sources(1)
    cluster.follow(new)
    for source in (new, settled):
        cluster.sandbox.set_status(source, "chargeable")
    assert cluster.api.request("POST", f"/v1/watches/{settled}/poll").ok
    cluster.wait_status(settled, "chargeable")
    cluster.wait_status(new, "chargeable")
    cluster.set_status(old, "consumed")
    cluster.wait_delivered([old, new, settled])

    # The lease of a worker that dies meanwhile expires on time.
    fault = cluster.sandbox.fault("hang", match=f"/v1/sources/{new}", times=1)
    assert cluster.api.request("POST", f"/v1/watches/{new}/poll").ok
    cluster.workers[0].kill9()
    cluster.sandbox.clear_fault(fault)
    cluster.set_status(new, "consumed")
    cluster.wait_done([old, new, settled])
    clock.set(0)
    cluster.set_status(settled, "consumed")
    cluster.verify([old, new, settled])
    assert cluster.fsck().returncode == 0


def test_a_clock_set_forward_purges_and_expires_nothing(faked):
    cluster, clock = faked
    waiting, done = cluster.sandbox.create_sources(2)
    cluster.follow(waiting, timeout="1h")
    cluster.sandbox.set_status(done, "consumed")
    cluster.enqueue(done)
    cluster.wait_status(done, "consumed")
    cluster.wait_done([waiting, done])
    attempts = cluster.api.watch(waiting)["attempts"]
    clock.set(60 * DAY_S)
    # A notifier starts with a round of retention over all partitions, which takes less than a second.
    assert cluster.notifiers[0].terminate() == 0
    cluster.notifiers[0].start().wait_ready()
    wait_until(lambda: cluster.api.watch(waiting)["attempts"] > attempts, 60, "the open watch is polled")
    time.sleep(5)
    assert cluster.api.watch(done)["status"] == "consumed"
    watch = cluster.api.watch(waiting)
    assert watch["state"] == "open", watch
    cluster.sandbox.set_status(waiting, "consumed")
    cluster.wait_status(waiting, "consumed", timeout_s=60)
    cluster.wait_done([waiting])
    clock.set(0)
    (new,) = cluster.sandbox.create_sources(1)
    cluster.follow(new)
    cluster.verify([waiting, done])
    assert cluster.fsck().returncode == 0
