"""Tests how soon the sources of a killed worker are polled again."""

import pytest

from harness.cluster import Cluster
from harness.waiting import wait_until

# The time until the next poll is measured.
pytestmark = pytest.mark.alone

SOURCES = 40
# The scheduling delay of ten processes on two cores. `InFlightTests` checks the second without a real clock.
MARGIN_MS = 3000


@pytest.mark.parametrize("lease_s, timeout_s", [(2, 1), pytest.param(12, 8, marks=pytest.mark.long)])
def test_sources_of_a_killed_worker_are_polled_again_within_lease_plus_one_second(
    chaos, lease_s: int, timeout_s: int
):
    env = {"POLLER_LEASE": f"{lease_s}s", "POLLER_POLL_TIMEOUT": f"{timeout_s}s"}
    cluster: Cluster = chaos(listen=False, env=env)
    first, second = cluster.workers
    second.freeze()
    sources = cluster.sandbox.create_sources(SOURCES)
    fault = cluster.sandbox.fault("hang", match="/v1/sources/", times=SOURCES)
    for source in sources:
        cluster.enqueue(source, notify=[])

    def polls(source: str) -> list[float]:
        return [poll["at_ms"] for poll in cluster.sandbox.polls(source)]

    wait_until(lambda: all(polls(source) for source in sources), 60, "each source is being polled")
    first.kill9()
    second.thaw()
    cluster.sandbox.clear_fault(fault)
    wait_until(
        lambda: all(len(polls(source)) >= 2 for source in sources),
        60,
        "each source polled again",
        pause_s=0.2,
    )
    gaps = [polls(source)[1] - polls(source)[0] for source in sources]
    print(
        f"lease {lease_s} s, {SOURCES} sources of a killed worker polled again after "
        f"{min(gaps):.0f} to {max(gaps):.0f} ms"
    )
    assert max(gaps) <= (lease_s + 1) * 1000 + MARGIN_MS
    assert cluster.fsck().returncode == 0
