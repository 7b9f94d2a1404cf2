"""What a payment that has finished leaves in Redis, and for how long."""

import pytest
import redis
from harness.cluster import Cluster
from harness.faked_clock import IS_HERE, FakedClock
from harness.waiting import wait_until

PAYMENTS = 40
DAY_S = 86400
# Bytes a payment: a source with five events, each told to one webhook, and two words of metadata.
YOUNG_MAX, LATER_MAX, OLD_MAX = 5200, 3900, 2700


def weights(cluster: Cluster) -> dict[str, float]:
    """Bytes of each kind of key for one payment, of those kinds that grow with payments."""
    kinds = ("w", "o", "l", "e", "h", "S", "d:y", "d:w", "d:o", "d:h")
    found = dict.fromkeys(kinds, 0.0)
    with redis.Redis.from_url(cluster.redis.url) as client:
        for key in client.scan_iter(count=1000):
            kind = key.decode().removeprefix("poller:").partition("{")[0]
            if kind in found:
                found[kind] += client.memory_usage(key, samples=0) / PAYMENTS
    return found


def recorded(cluster: Cluster) -> int:
    with redis.Redis.from_url(cluster.redis.url) as client:
        return sum(client.xlen(key) for key in client.scan_iter("poller:e{*", count=1000))


@pytest.mark.skipif(not IS_HERE, reason="needs a C compiler on Linux")
def test_a_finished_payment_weighs_little_and_less_when_nobody_needs_its_bodies(chaos, tmp_path):
    clock = FakedClock(tmp_path / "clock")
    cluster: Cluster = chaos(workers=1, listen=False, redis_env=clock.env, env={"POLLER_STRIPE_SWEEP": "off"})
    sources = cluster.sandbox.create_sources(PAYMENTS)
    for number, source in enumerate(sources):
        cluster.enqueue(
            source, notify=[cluster.webhook.url], metadata={"order": f"A{number}", "customer": "Jane Doe"}
        )
    for source in sources:
        cluster.wait_status(source, "pending")
        cluster.sandbox.authorise(source)
    for source in sources:
        cluster.wait_status(source, "chargeable")
        cluster.sandbox.charge(source)
    for source in sources:
        cluster.wait_status(source, "consumed")
    cluster.wait_delivered(sources, mail=False)
    young = weights(cluster)
    print("young", {kind: round(size) for kind, size in young.items()}, round(sum(young.values())))
    told = [event["id"] for event in cluster.api.events(sources[0])]

    clock.set(2 * DAY_S)
    wait_until(lambda: not recorded(cluster), 60, "the outbox is trimmed", pause_s=1)
    later = weights(cluster)
    print("later", {kind: round(size) for kind, size in later.items()}, round(sum(later.values())))

    clock.set(9 * DAY_S)
    wait_until(lambda: weights(cluster)["l"] < young["l"] * 2 / 3, 60, "the bodies are forgotten", pause_s=1)
    old = weights(cluster)
    print("old", {kind: round(size) for kind, size in old.items()}, round(sum(old.values())))

    events = cluster.api.events(sources[0])
    assert [event["id"] for event in events] == told, "what has happened stays"
    assert all(event["object"] is None and "metadata" not in event for event in events)
    watch = cluster.api.watch(sources[0])
    assert watch["payment"]["state"] == "paid" and watch["metadata"]["customer"] == "Jane Doe"
    assert cluster.api.request("GET", "/v1/watches?q=A0").json()["data"][0]["source"] == sources[0]
    story = cluster.api.request("GET", f"/v1/watches/{sources[0]}/timeline").json()
    assert any("paid" in entry["text"].lower() for entry in story["entries"]), story
    assert cluster.fsck().returncode == 0
    assert sum(young.values()) < YOUNG_MAX and sum(later.values()) < LATER_MAX and sum(old.values()) < OLD_MAX
