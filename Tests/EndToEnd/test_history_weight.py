"""What a payment that has finished leaves in Redis."""

import redis
from harness.cluster import Cluster

PAYMENTS = 40
# Bytes a payment: a source with five events, each told to one webhook, and two words of metadata.
YOUNG_MAX = 5700


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


def test_a_finished_payment_weighs_little(chaos):
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
