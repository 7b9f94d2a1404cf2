"""Tests the Redis memory of an open and of a finished payment."""

import redis
from harness.cluster import Cluster

PAYMENTS = 40
# Bytes per payment: a source with five events, each delivered to one webhook, and two metadata entries.
YOUNG_MAX = 4000
# Bytes per open watch, including a recipient, a client secret and two metadata entries that are not indexed.
OPEN_MAX = 456
OPEN = 500


def weights(cluster: Cluster) -> dict[str, float]:
    """Returns the bytes per payment for each kind of key that grows with payments."""
    kinds = ("w", "o", "l", "e", "h", "S", "d:y", "d:w", "d:o", "d:h")
    found = dict.fromkeys(kinds, 0.0)
    with redis.Redis.from_url(cluster.redis.url) as client:
        for key in client.scan_iter(count=1000):
            kind = key.decode().removeprefix("poller:").partition("{")[0]
            if kind in found:
                found[kind] += (client.memory_usage(key, samples=0) or 0) / PAYMENTS
    return found


def test_a_finished_payment_uses_little_memory(chaos):
    cluster: Cluster = chaos(workers=1, listen=False, env={"POLLER_STRIPE_SWEEP": "off"})
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
    assert sum(young.values()) < YOUNG_MAX


def test_an_open_watch_uses_little_memory(chaos):
    cluster: Cluster = chaos(
        # A single partition makes one list as long as those of a large store.
        workers=0, notifiers=0, listen=False, env={"POLLER_SEARCH": "none", "POLLER_PARTITIONS": "1"},
    )

    def stored() -> float:
        with redis.Redis.from_url(cluster.redis.url) as client:
            return sum(client.memory_usage(key, samples=0) or 0 for key in client.scan_iter(count=1000)) / OPEN

    def watch(number: int, **fields) -> dict:
        return {"source": f"src_1MqP3wLkdIwHu7ix{number:08}", "kind": "source"} | fields

    none = stored()
    watches = [
        watch(
            number, notify=["https://shop.example/payments/hook"], client_secret=f"src_client_secret_k2xVjjBCTe19wRzA{number:08}",
            metadata={"order": f"A{number}", "customer": f"c{number}@example.com"},
        )
        for number in range(OPEN)
    ]
    assert cluster.api.request("POST", "/v1/watches/batch", json=watches).ok
    full = stored() - none
    assert cluster.api.request("POST", "/v1/watches/batch", json=[watch(OPEN + number) for number in range(OPEN)]).ok
    bare = stored() - none - full
    print(f"\nbytes of an open watch: {full:.0f}, without anything {bare:.0f}")
    assert full <= OPEN_MAX
    # The metadata is read back unchanged.
    assert cluster.api.watch(watches[7]["source"])["metadata"] == watches[7]["metadata"]
