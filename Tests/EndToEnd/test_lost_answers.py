"""Tests that items whose claim answer was lost are recovered before their lease expires."""

import time

from harness.cluster import Cluster
from harness.deaf_way import DeafWay
from harness.waiting import wait_until

# Longer than the test may take, so an item that is processed in time did not wait for the end of its lease.
LEASE_S = 120
ROUNDS = 4
SOURCES = 12


def test_items_of_a_lost_response_are_processed_at_once(chaos):
    """Cuts the worker's and the notifier's connections repeatedly, between a claim or commit and its answer."""
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False)
    way = DeafWay(cluster.redis.port)
    env = {"POLLER_REDIS_URL": way.url, "POLLER_LEASE": f"{LEASE_S}s", "POLLER_DELIVERY_LEASE": f"{LEASE_S}s"}
    worker = cluster.role("worker", "worker", env).start().wait_ready()
    notifier = cluster.role("notifier", "notifier", env).start().wait_ready()
    finished: list[str] = []
    slowest = 0.0
    for number in range(ROUNDS):
        sources = cluster.sandbox.create_sources(SOURCES)
        way.lose(b"claim" if number % 2 else b"commit", 3)
        begun = time.monotonic()
        for source in sources:
            cluster.enqueue(source, notify=[cluster.webhook.url])
        for source in sources:
            cluster.wait_status(source, "pending", LEASE_S + 15)
        for source in sources:
            cluster.sandbox.set_status(source, "failed")
        for source in sources:
            cluster.wait_status(source, "failed", LEASE_S + 15)
        finished += sources
        cluster.wait_delivered(finished, LEASE_S + 15, mail=False)
        slowest = max(slowest, time.monotonic() - begun)
        assert way.left == 0, "no answer was lost"
    assert slowest < LEASE_S / 2, f"a round took {slowest:.1f} s"
    wait_until(lambda: "recalls what a lost answer held" in worker.stderr(), 60, "the recall is logged")
    for role in (worker, notifier):
        assert role.metric("poller_leases_recovered_total") == 0
    history = cluster.history({source: cluster.api.events(source) for source in finished})
    history.channel("webhook", cluster.webhook.receipts.among(finished))
    history.verdict()
    # They need Redis to end.
    for role in (worker, notifier):
        role.end()
    way.close()
