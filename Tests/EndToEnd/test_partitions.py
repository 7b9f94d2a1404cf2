"""Tests that a new store gets the configured number of partitions and keeps it."""

from harness.cluster import Cluster, Role, program
from harness.commands import run
from harness.waiting import wait_until


def test_a_store_is_created_with_the_configured_partitions_and_keeps_them(chaos, tmp_path):
    cluster: Cluster = chaos(env={"POLLER_PARTITIONS": "48"}, listen=False)
    with cluster.redis.client() as client:
        assert client.hget("poller:layout", "partitions") == "48"
    # With 48 partitions ten accounts are in separate ones. With 16 they would not be.
    sources = cluster.sandbox.create_sources(10)
    for number, source in enumerate(sources):
        cluster.enqueue(source, notify=[f"{cluster.webhook.url}/{number}"])
    for source in sources:
        cluster.wait_status(source, "pending")
    cluster.wait_delivered(sources, mail=False)

    late = Role("late", [program("pollerd"), "worker"], tmp_path, cluster.env | {"POLLER_PARTITIONS": "96"})
    try:
        late.start().wait_ready()
        wait_until(lambda: "made with another number of partitions" in late.stderr(), 60, "the difference is logged")
    finally:
        late.end()
    with cluster.redis.client() as client:
        assert client.hget("poller:layout", "partitions") == "48"
    assert cluster.fsck().returncode == 0, cluster.fsck().stdout


def test_an_invalid_number_of_partitions_is_rejected():
    for wrong in ("0", "1025", "many"):
        done = run("pollerd", "worker", env={"POLLER_PARTITIONS": wrong})
        assert done.returncode == 78 and "from 1 to 1024" in done.stderr, done
