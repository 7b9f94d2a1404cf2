"""Tests a Redis that loses its disk and restarts from an older copy, while the other processes continue."""

import shutil
from pathlib import Path

import requests

from harness.cluster import Cluster
from harness.waiting import wait_until

EACH = 20


def wait_delivered_ids(cluster: Cluster, sources: list[str], status: str) -> dict[str, set[str]]:
    """Waits until this status of all sources was delivered to the shop, and returns the event IDs by source."""
    found: dict[str, set[str]] = {}

    def all_there() -> bool:
        found.clear()
        for receipt in cluster.webhook.receipts.among(sources).all():
            if receipt.status == status:
                found.setdefault(receipt.source, set()).add(receipt.event)
        return len(found) == len(sources)

    wait_until(all_there, 60, f"{status} of {len(sources)} sources is delivered")
    return found


def test_after_a_restore_lost_events_are_delivered_again_with_the_same_ids(chaos, tmp_path: Path):
    cluster: Cluster = chaos(listen=False, fsync="always")
    copy, files = tmp_path / "backup", cluster.redis.folder
    known = cluster.sandbox.create_sources(3 * EACH)
    early, late, waiting = known[:EACH], known[EACH : 2 * EACH], known[2 * EACH :]
    for source in known:
        cluster.enqueue(source, notify=[cluster.webhook.url])
    for source in early:
        cluster.sandbox.set_status(source, "failed")
    wait_delivered_ids(cluster, early, "failed")
    wait_delivered_ids(cluster, late + waiting, "pending")
    for source in late + waiting:
        cluster.wait_status(source, "pending")
    shutil.copytree(files, copy)

    # The copy does not contain anything from here on.
    new = cluster.sandbox.create_sources(EACH)
    for source in new:
        cluster.enqueue(source, notify=[cluster.webhook.url])
    for source in late + new:
        cluster.sandbox.set_status(source, "failed")
    wait_delivered_ids(cluster, new, "failed")
    before = wait_delivered_ids(cluster, late, "failed")

    cluster.redis.kill9()
    shutil.rmtree(files)
    shutil.copytree(copy, files)
    cluster.redis.start()
    wait_until(lambda: cluster.api.request("GET", "/v1/stats").ok, 60, "the API is connected to Redis again")

    # No process restarts. Watches in the copy are polled again, and their events get the same IDs as before.
    for source in late:
        cluster.wait_status(source, "failed", 60)
    for source in waiting:
        cluster.sandbox.set_status(source, "failed")
    wait_delivered_ids(cluster, waiting, "failed")
    for source in early:
        assert cluster.api.watch(source)["status"] == "failed"
    # The shop may enqueue the sources missing in the copy again at any time.
    # Each starts a new history with the current status.
    for source in new:
        assert requests.get(f"{cluster.api.url}/v1/watches/{source}", timeout=30).status_code == 404
        cluster.enqueue(source, notify=[cluster.webhook.url])
    for source in new:
        cluster.wait_status(source, "failed")
    cluster.wait_delivered(known + new, mail=False)
    assert wait_delivered_ids(cluster, late, "failed") == before
    for source in new:
        assert "pending" not in [event["status"] for event in cluster.api.events(source)]
    assert cluster.fsck().returncode == 0, cluster.fsck().stdout


def doctor_of(cluster: Cluster) -> dict:
    """Returns the doctor's check of the partitions."""
    checks = cluster.api.get("/v1/doctor")["checks"]
    return next(check for check in checks if check["name"] == "partitions")


def test_an_emptied_store_gets_its_layout_again_and_another_layout_is_reported(chaos):
    cluster: Cluster = chaos(env={"POLLER_PARTITIONS": "48"}, listen=False)
    with cluster.redis.client() as client:
        made = client.hgetall("poller:layout")
        assert made["partitions"] == "48"
        client.flushall()
        # The doctor only reads. Creating a layout here would make a store with 16 partitions.
        cluster.api.get("/v1/doctor")
        wait_until(lambda: client.hgetall("poller:layout") == made, 60, "the layout is written again")
        source = cluster.sandbox.create_sources(1)[0]
        cluster.follow(source, notify=[cluster.webhook.url])
        assert doctor_of(cluster)["status"] == "ok"

        # The layout of a copy from before a repartition.
        client.hset("poller:layout", mapping={"partitions": "16"})
        wait_until(lambda: doctor_of(cluster)["status"] == "failed", 60, "the doctor names it")
        for role in [*cluster.apis, *cluster.workers, *cluster.notifiers]:
            wait_until(lambda: "restart this process" in role.stderr(), 60, f"{role.name} reports it")
        client.hset("poller:layout", mapping=made)
