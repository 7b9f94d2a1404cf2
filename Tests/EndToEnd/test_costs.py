"""What Redis remembers of a payment, and what many processes ask of it: the figures of the guide *Capacity*.

`pytest -s Tests/EndToEnd/test_costs.py` prints them.
"""

import collections
import time

import pytest

from harness.cluster import Cluster
from harness.waiting import wait_until
from test_afterlife import age, forget

PAYMENTS = 200
WORKERS = 12
IDLE_S = 8


def bytes_by_kind(cluster: Cluster) -> collections.Counter[str]:
    """What the keys of the store take, for each payment, by what stands before the partition."""
    kinds = collections.Counter()
    with cluster.redis.client() as client:
        for key in client.scan_iter(count=1000):
            kinds[key.split("{")[0]] += (client.memory_usage(key, samples=0) or 0) / PAYMENTS
    return kinds


def bytes_of_payments(cluster: Cluster) -> float:
    return sum(bytes_by_kind(cluster).values())


def test_what_redis_remembers_of_a_payment(chaos):
    env = {
        "POLLER_LANE_RATE": "0", "POLLER_SEARCH": "order,customer",
        "POLLER_BODY_RETENTION": "4d", "POLLER_OUTBOX_RETENTION": "60s",
    }
    cluster: Cluster = chaos(workers=1, listen=False, env=env)
    sources = cluster.sandbox.create_sources(PAYMENTS)
    for number, source in enumerate(sources):
        names = {"order": f"A{number}", "customer": f"c{number}@example.com"}
        cluster.enqueue(source, notify=[cluster.webhook.url], metadata=names)

    def told(status: str) -> None:
        wait_until(
            lambda: len({r.source for r in cluster.webhook.receipts.all() if r.status == status}) == PAYMENTS,
            60, f"{status} told of all",
        )

    told("pending")
    for status in ("chargeable", "consumed"):
        for source in sources:
            cluster.sandbox.set_status(source, status)
        told(status)
    young = bytes_of_payments(cluster)
    assert all(len(cluster.api.events(source)) == 5 for source in sources[:10])
    # The outbox lets go of what is older than its minute, and bodies go with the fourth day.
    wait_until(lambda: bytes_of_payments(cluster) < young - 60, 120, "the outbox lets go", pause_s=5)
    outbox = bytes_of_payments(cluster)
    age(cluster, 8)
    forget(cluster, "janitor")
    wait_until(lambda: bytes_of_payments(cluster) < outbox - 500, 60, "the bodies go", pause_s=2)
    time.sleep(3)
    old = bytes_of_payments(cluster)
    print(f"\nbytes of a payment: {young:.0f} on its first day, {outbox:.0f} in its week, {old:.0f} after")
    assert young < 3800 and outbox < 3600 and old < 2200


@pytest.mark.alone
def test_processes_that_have_nothing_to_do_cost_redis_little(chaos):
    """Twelve that claimed from each of sixteen partitions every second would be 190 claims a second."""
    cluster: Cluster = chaos(workers=WORKERS, listen=False, env={"POLLER_LEASE": "12s", "POLLER_LOG_LEVEL": "warning"})

    def claims() -> float:
        return sum(worker.metric("poller_claims_total") for worker in cluster.workers)

    def a_second() -> float:
        before, began = claims(), time.monotonic()
        time.sleep(IDLE_S)
        return (claims() - before) / (time.monotonic() - began)

    # Until each has heard of the others twice, and has looked in once.
    rates = [a_second() for _ in range(3)]
    print(f"\nclaims a second of {WORKERS} idle workers: {rates}")
    assert min(rates) < 120, rates
