"""Tests the memory of a worker with a thousand polls in flight."""

import re
from pathlib import Path

import pytest

from harness.cluster import Cluster
from harness.waiting import wait_until

# The memory of a process depends on its speed.
pytestmark = pytest.mark.alone

IN_FLIGHT = 1000
# For a debug build, which used 74.4 to 76.1 MB. It used 57.6 to 60.4 MB before a poll could also read disputes,
# refunds and an intent.
GOAL_MB = 80


def resident_mb(pid: int, part: str = "RssAnon") -> float:
    """Returns the private memory of a process; `VmRSS` adds the shared pages of its program."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{part}:\s+(\d+) kB", text, re.MULTILINE).group(1)) / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_worker_with_a_thousand_polls_in_flight_uses_little_memory(chaos):
    cluster: Cluster = chaos(
        workers=1,
        listen=False,
        env={
            "POLLER_WORKER_CONCURRENCY": str(IN_FLIGHT),
            "POLLER_LANE_RATE": "0",
            "POLLER_LANE_CONCURRENCY": str(2 * IN_FLIGHT),
            "POLLER_LEASE": "300s",
            "POLLER_POLL_TIMEOUT": "290s",
            "POLLER_LOG_LEVEL": "info",
        },
    )
    worker = cluster.workers[0]
    idle = resident_mb(worker.pid)
    fault = cluster.sandbox.fault("hang", match="/v1/sources/")
    sources = cluster.sandbox.create_sources(IN_FLIGHT + 200)
    batch = [{"source": source, "policy": "patient"} for source in sources]
    answer = cluster.api.request("POST", "/v1/watches/batch", json=batch)
    assert answer.ok, answer.text
    seen: list[float] = []

    def is_full() -> bool:
        seen.append(resident_mb(worker.pid))
        workers = cluster.api.get("/v1/workers")["data"]
        return any(w["in_flight"] >= IN_FLIGHT for w in workers if w["pid"] == worker.pid)

    wait_until(is_full, 120, f"{IN_FLIGHT} polls in flight", pause_s=0.1)
    full = resident_mb(worker.pid)
    cluster.sandbox.clear_fault(fault)
    for source in (sources[0], sources[-1]):
        cluster.wait_status(source, "pending", timeout_s=120)
    after = resident_mb(worker.pid)
    most = max(*seen, full, after)
    print(
        f"worker: {idle:.0f} MB of its own idle, {full:.0f} with {IN_FLIGHT} polls in flight, "
        f"{after:.0f} after their answers, {most:.0f} at most; "
        f"{resident_mb(worker.pid, 'VmRSS'):.0f} MB with the pages of its program"
    )
    assert most <= GOAL_MB
