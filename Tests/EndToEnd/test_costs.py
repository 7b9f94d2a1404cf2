"""Tests the Redis memory of a payment and the load of idle processes against the guide *Capacity*.

The forecast of `pollerd simulate` must match these figures within a fifth, in each stage up to a closed payment
without deliveries. `pytest -s Tests/EndToEnd/test_costs.py` prints them.
"""

import collections
import time

import pytest

from harness.cluster import Cluster
from harness.packed_event import TOGETHER, events
from harness.waiting import wait_until
from test_afterlife import age, forget
from test_simulate import runs

PAYMENTS = 200
WORKERS = 12
IDLE_S = 8


def bytes_by_kind(cluster: Cluster) -> collections.Counter[str]:
    """Returns the memory of the store's keys per payment, by the key's prefix before the partition."""
    kinds = collections.Counter()
    with cluster.redis.client() as client:
        for key in client.scan_iter(count=1000):
            kinds[key.split("{")[0]] += (client.memory_usage(key, samples=0) or 0) / PAYMENTS
    return kinds


def bytes_of_payments(cluster: Cluster) -> float:
    return sum(bytes_by_kind(cluster).values())


def logs(cluster: Cluster) -> list[list[bytes]]:
    """Returns the entries of the log of each payment."""
    with cluster.redis.client() as client:
        return [
            [entry.encode(errors="surrogateescape") for entry in client.lrange(key, 0, -1)]
            for key in client.scan_iter("poller:l{*", count=1000)
        ]


def planned(*arguments: str) -> dict[str, float]:
    """Returns the bytes of a payment in each stage, as `pollerd simulate` forecasts them."""
    return runs("--lives", "1h", "--sources", "10", "--sample", "100", *arguments)[0]["cluster"]["bytes"]


@pytest.mark.long
@pytest.mark.parametrize(("receivers", "names"), [(1, 2), (2, 0)])
def test_the_redis_memory_of_a_payment_matches_the_guide(chaos, receivers: int, names: int):
    env = {
        "POLLER_LANE_RATE": "0", "POLLER_SEARCH": "order,customer",
        "POLLER_BODY_RETENTION": "4d", "POLLER_OUTBOX_RETENTION": "60s",
    }
    cluster: Cluster = chaos(workers=1, listen=False, env=env)
    # The memory without any payment.
    none = bytes_of_payments(cluster)
    sources = cluster.sandbox.create_sources(PAYMENTS)
    for number, source in enumerate(sources):
        metadata = dict([("order", f"A{number}"), ("customer", f"c{number}@example.com")][:names])
        cluster.enqueue(source, notify=[f"{cluster.webhook.url}/{n}" for n in range(receivers)], metadata=metadata)

    def told(status: str) -> None:
        def all_told() -> bool:
            receipts = cluster.webhook.receipts.all()
            return sum(r.status == status for r in receipts) >= PAYMENTS * receivers

        wait_until(all_told, 60, f"{status} of all sources is delivered")

    told("pending")
    time.sleep(1)
    opened = bytes_of_payments(cluster) - none
    for status in ("chargeable", "consumed"):
        for source in sources:
            cluster.sandbox.set_status(source, status)
        told(status)
    wait_until(lambda: len(cluster.webhook.receipts.all()) == PAYMENTS * receivers * 5, 60, "all events are delivered")
    time.sleep(1)
    young = bytes_of_payments(cluster) - none
    assert all(len(cluster.api.events(source)) == 5 for source in sources[:10])
    # Ten minutes after the end the events are packed together.
    age(cluster, 1)
    forget(cluster, "packer")
    wait_until(lambda: bytes_of_payments(cluster) - none < young - 150, 60, "events are packed together", pause_s=1)
    time.sleep(2)
    packed = bytes_of_payments(cluster) - none
    # The tests with faults read the logs themselves, from the description of their format.
    for log in logs(cluster):
        assert [entry[0] for entry in log] == [TOGETHER]
        assert [event["seq"] for event in events(log[0], "")] == [1, 2, 3, 4, 5]
    # The outbox drops entries after a minute, and bodies are deleted after the fourth day.
    wait_until(lambda: bytes_of_payments(cluster) - none < packed - 60, 120, "the outbox lets go", pause_s=5)
    outbox = bytes_of_payments(cluster) - none
    age(cluster, 8)
    forget(cluster, "reducer")
    wait_until(lambda: bytes_of_payments(cluster) - none < outbox - 300, 60, "the bodies go", pause_s=2)
    time.sleep(3)
    old = bytes_of_payments(cluster) - none
    measured = {"open": opened, "outbox": packed, "bodies": outbox, "closed": old}
    plan = planned("--deliveries", str(receivers), "--names", str(names), "--events", "5")
    said = ", ".join(f"{age} {found:.0f} (planned {plan[age]:.0f})" for age, found in measured.items())
    print(f"\nbytes of a payment, {receivers} receivers, {names} names: first minutes {young:.0f}, {said}")
    if (receivers, names) == (1, 2):
        assert young < 3000 and packed < 2500 and outbox < 2300 and old < 1500
    for age_of_it, found in measured.items():
        assert abs(plan[age_of_it] / found - 1) < 0.2, said


def test_idle_processes_cause_little_load_on_redis(chaos):
    """Checks the claim rate of idle workers.

    Twelve workers that claimed from all 16 partitions every second would make 190 claims per second.
    """
    cluster: Cluster = chaos(workers=WORKERS, listen=False, env={"POLLER_LOG_LEVEL": "warning"})

    def claims() -> float:
        return sum(worker.metric("poller_claims_total") for worker in cluster.workers)

    def a_second() -> float:
        before, began = claims(), time.monotonic()
        time.sleep(IDLE_S)
        return (claims() - before) / (time.monotonic() - began)

    # Waits until each worker has received the others' heartbeats twice and has claimed once.
    rates = [a_second() for _ in range(3)]
    print(f"\nclaims a second of {WORKERS} idle workers: {rates}")
    assert min(rates) < 120, rates
