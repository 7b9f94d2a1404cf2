"""Tests a Redis without free memory or disk space: it accepts nothing new, and accepted watches continue."""

import time
from pathlib import Path

import pytest

from harness.cluster import SHORT_LEASE, Cluster
from harness.full_disk import FullDisk
from harness.preloaded import IS_HERE
from harness.waiting import wait_until


def test_a_full_redis_rejects_new_watches_and_completes_open_ones(chaos):
    cluster: Cluster = chaos()
    first, second = cluster.sandbox.create_sources(2)
    cluster.follow(first, policy="interactive")
    with cluster.redis.client() as client:
        client.config_set("maxmemory", 1)
        refused = cluster.api.enqueue(second, policy="interactive")
        assert refused.status_code == 503, refused.text
        assert refused.json()["code"] == "store_full"
        assert int(refused.headers["Retry-After"]) > 0
        assert cluster.api.request("GET", f"/v1/watches/{second}").status_code == 404

        for status in ("chargeable", "consumed"):
            cluster.set_status(first, status)
        cluster.wait_delivered([first])

        client.config_set("maxmemory", 0)
    cluster.sandbox.set_status(second, "consumed")
    cluster.enqueue(second, policy="interactive")
    cluster.wait_status(second, "consumed")
    cluster.verify([first, second])


def test_processes_can_restart_with_a_full_redis(chaos):
    """Restarts every process and Redis. Open watches are polled, delivered and acknowledged."""
    cluster: Cluster = chaos(store="sentinel", env=SHORT_LEASE | {"POLLER_WAIT_REPLICAS": "1"})
    first, second, third = cluster.sandbox.create_sources(3)
    for source in (first, second):
        cluster.follow(source, policy="interactive")
    cluster.wait_done([first, second], mail=False)
    with cluster.redis.client() as client:
        client.config_set("maxmemory", 1)
    roles = [cluster.api_process, *cluster.workers, *cluster.notifiers]
    for role in roles:
        role.kill9()
    for role in roles:
        role.start()
    for role in roles:
        role.wait_ready()
    cluster.api.url = cluster.api_process.address("api")
    assert cluster.api.enqueue(third).status_code == 503

    for source in (first, second):
        cluster.sandbox.set_status(source, "consumed")
    for source in (first, second):
        cluster.wait_status(source, "consumed")
    cluster.wait_delivered([first, second], mail=False)

    def acknowledged() -> bool:
        return cluster.api.get("/v1/stats")["watches"]["undelivered"] == 0

    wait_until(acknowledged, 60, "delivered events are acknowledged")
    with cluster.redis.client() as client:
        client.config_set("maxmemory", 0)
    cluster.follow(third, policy="interactive")


@pytest.mark.skipif(not IS_HERE, reason="needs a C compiler on Linux")
def test_processes_wait_while_the_disk_is_full(chaos, tmp_path: Path):
    """Redis refuses every write. Unrecorded changes are not delivered, and no process restarts."""
    disk = FullDisk(tmp_path / "disk")
    cluster: Cluster = chaos(fsync="everysec", env=SHORT_LEASE, redis_env=disk.env)
    first, second, third = cluster.sandbox.create_sources(3)
    for source in (first, second):
        cluster.follow(source, policy="interactive")
    cluster.wait_delivered([first, second])
    with cluster.redis.client() as client:
        disk.fill()

        def refuses() -> bool:
            refused = cluster.api.enqueue(third)
            return refused.status_code == 503 and client.info("persistence")["aof_last_write_status"] == "err"

        wait_until(refuses, 60, "Redis accepts no write")
        refused = cluster.api.enqueue(third)
        assert refused.json()["code"] == "store_unavailable" and int(refused.headers["Retry-After"]) > 0, refused.text
        cluster.sandbox.set_status(first, "consumed")
        # Longer than a lease and than the pause after an outage.
        time.sleep(8)
        assert cluster.api.get(f"/v1/watches/{first}")["status"] == "pending"
        roles = [cluster.api_process, *cluster.workers, *cluster.notifiers]
        assert all(role.running for role in roles)

        disk.clear()
        wait_until(lambda: client.info("persistence")["aof_last_write_status"] == "ok", 60, "Redis writes again")
    for source in (second, third):
        cluster.sandbox.set_status(source, "consumed")
    cluster.enqueue(third, policy="interactive")
    for source in (first, second, third):
        cluster.wait_status(source, "consumed")
    cluster.verify([first, second, third])
    assert all(role.running for role in roles)
    assert cluster.fsck().returncode == 0
