"""Tests a Redis that is killed under load and recovers from its append-only file."""

import threading
import time

import requests

from harness.cluster import Cluster
from harness.waiting import wait_until

SOURCES = 300
# Emails for all sources would measure the mail sink.
MAILED = 30


def enqueue_until_accepted(cluster: Cluster, source: str, mailed: bool) -> None:
    """Enqueues as a shop does: repeats the request until it succeeds."""
    notify = cluster.notify_of(source) if mailed else [cluster.webhook.url]

    def accepted() -> bool:
        try:
            response = cluster.api.enqueue(source, policy="interactive", notify=notify)
        except requests.RequestException:
            return False
        assert response.status_code in (200, 201, 503), response.text
        return response.ok

    wait_until(accepted, 60, f"{source} accepted", pause_s=0.1)


def test_two_kills_of_redis_lose_no_accepted_watch_and_end_no_process(chaos):
    cluster: Cluster = chaos(fsync="always")
    sources = cluster.sandbox.create_sources(SOURCES)
    moved = threading.Event()

    def bank() -> None:
        """Makes every source chargeable and then consumed, regardless of Redis."""
        for status in ("chargeable", "consumed"):
            for source in sources:
                cluster.sandbox.set_status(source, status)
                # At this pace, sources still change during both outages.
                time.sleep(0.008)
        moved.set()

    def kill_redis() -> None:
        cluster.redis.kill9()
        # Long enough for every process to notice the outage and to fail at least one reconnect.
        time.sleep(1.5)
        cluster.redis.start()

    for number, source in enumerate(sources[: SOURCES // 2]):
        enqueue_until_accepted(cluster, source, mailed=number < MAILED)
    bank_thread = threading.Thread(target=bank)
    bank_thread.start()
    killer = threading.Thread(target=kill_redis)
    killer.start()
    for source in sources[SOURCES // 2 :]:
        enqueue_until_accepted(cluster, source, mailed=False)
    killer.join()
    wait_until(lambda: len(cluster.webhook.receipts.all()) > SOURCES // 3, 60, "work continues")
    kill_redis()
    bank_thread.join()
    assert moved.is_set()
    wait_until(lambda: cluster.api.request("GET", "/v1/stats").ok, 60, "the API is connected to Redis again")

    roles = [cluster.api_process, *cluster.workers, *cluster.notifiers]
    for source in sources:
        cluster.wait_status(source, "consumed", timeout_s=60)
    ended = [role.name for role in roles if not role.running or role.starts != 1]
    assert not ended, f"ended because Redis did: {ended}"
    cluster.wait_delivered(sources, timeout_s=90, mail=False)
    cluster.wait_delivered(sources[:MAILED], timeout_s=60)

    recorded = {source: cluster.api.events(source) for source in sources}
    history = cluster.history(recorded)
    # An attempt whose outcome could not be stored is repeated with the same ID.
    history.channel("webhook", cluster.webhook.receipts, doubles=True)
    history.channel("websocket", cluster.stream.receipts)
    # Pub/sub may lose messages. The messages that arrive must be correct and in order.
    history.channel("redis", cluster.pubsub.receipts, gaps=True)
    mailed = cluster.history({source: recorded[source] for source in sources[:MAILED]})
    mailed.channel("email", cluster.mail.receipts, doubles=True)
    history.violations += mailed.violations
    history.verdict()
