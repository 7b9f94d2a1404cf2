"""Tests the statistics history that the cluster keeps, which the API returns and `top` draws."""

import datetime

import pytest

from harness.cluster import Cluster
from harness.commands import run
from harness.waiting import wait_until

COUNT = 5


def figures(cluster: Cluster, span: str) -> dict:
    told = cluster.api.get(f"/v1/stats/history?span={span}")
    assert {len(values) for values in told["series"].values()} == {1440 if span == "24h" else 2160}
    return told


def total(cluster: Cluster, name: str, span: str = "24h") -> int:
    return sum(figures(cluster, span)["series"][name])


@pytest.mark.parametrize("store", ["standalone", "cluster"])
def test_the_history_includes_the_work_of_ended_processes(chaos, store: str):
    cluster: Cluster = chaos(workers=1, store=store, listen=False)
    sources = cluster.sandbox.create_sources(COUNT)
    for source in sources:
        cluster.enqueue(source, notify=[cluster.webhook.url + "/SOURCE"])
        cluster.sandbox.authorise(source)
    wait_until(
        lambda: all(cluster.webhook.receipts.of(source) for source in sources), 60, "every endpoint has events"
    )
    # A process that ends reports its counts since its last report.
    for role in [*cluster.workers, *cluster.notifiers]:
        assert role.terminate() == 0
    polled = sum(len(cluster.sandbox.polls(source)) for source in sources)
    for span in ("24h", "90d"):
        before = datetime.datetime.now(datetime.timezone.utc)
        told = figures(cluster, span)
        assert total(cluster, "polls", span) == polled
        assert total(cluster, "changes", span) >= COUNT
        assert total(cluster, "deliveries", span) == len(cluster.webhook.receipts.all())
        assert total(cluster, "failures", span) == 0
        assert any(value is not None for value in told["series"]["lag_p99_ms"])
        start = datetime.datetime.fromisoformat(told["from"])
        step = datetime.timedelta(seconds=told["step_seconds"])
        end = start + step * len(told["series"]["polls"])
        now = datetime.datetime.now(datetime.timezone.utc)
        assert end - step <= now and before <= end, "the last point is the current one"


def test_failures_are_counted_and_top_draws_them(chaos):
    cluster: Cluster = chaos(workers=1, listen=False)
    cluster.webhook.refuse(2)
    source = cluster.enqueue_new(notify=[cluster.webhook.url + "/SOURCE"])
    cluster.sandbox.authorise(source)
    wait_until(lambda: total(cluster, "failures") > 0, 60, "a failed delivery is in the history")
    shown = run("pollerctl", "top", env={"POLLER_URL": cluster.api.url})
    assert shown.returncode == 0
    lines = {line.split()[0]: line for line in shown.stdout.splitlines() if line.strip()}
    assert {"Polls", "Changes", "Deliveries", "Failures", "Lag"} <= lines.keys()


def test_an_invalid_span_is_rejected(calm: Cluster):
    answer = calm.api.request("GET", "/v1/stats/history", params={"span": "1y"})
    assert answer.status_code == 400 and "24h, 90d" in answer.text


def test_full_rings_take_less_than_two_megabytes(calm: Cluster):
    """Fills every possible field with the numbers of a busy cluster: 100,000 polls per second."""
    with calm.redis.client() as client:
        total_bytes = 0
        for step, fields in ((60, 1440), (3600, 2160)):
            key, number = f"full:H{{0}}{step}", str(100_000 * step)
            # The step's number, four counters, and the buckets of the delay histogram.
            value = " ".join(["29733000", *[number] * 4, *[number] * 17])
            client.hset(key, mapping={str(field): value for field in range(fields)})
            total_bytes += client.memory_usage(key, samples=0)
            client.delete(key)
    assert total_bytes < 2_000_000, total_bytes
    print(f"full rings: {total_bytes} bytes")
