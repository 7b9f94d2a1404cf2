"""Tests that unreliable endpoints receive every event in order while notifiers and Redis are killed."""

import random
import time

from harness.cluster import Cluster
from harness.waiting import wait_until
from harness.wild_receiver import TROUBLE, WildReceiver

SOURCES = 60
STATUSES = ("chargeable", "consumed")
# A killed notifier's deliveries stay leased for 45 s.
DELIVERED_WITHIN_S = 180


def test_unreliable_receivers_get_every_event_in_order_despite_kills(chaos):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    cluster: Cluster = chaos(notifiers=2, listen=False, fsync="always")
    receivers = [WildReceiver(seed + number) for number in range(2)]
    sources = cluster.sandbox.create_sources(SOURCES)
    try:
        for receiver in receivers:
            body = {"url": receiver.url, "retry": ["1s"] * 20, "timeout": "2s"}
            made = cluster.api.request("POST", "/v1/endpoints", json=body)
            assert made.status_code == 201, made.text
        for source in sources:
            cluster.enqueue(source, notify=[])
        for status in STATUSES:
            for source in sources:
                cluster.sandbox.set_status(source, status)
                time.sleep(0.02)
            victim = chance.choice(cluster.notifiers)
            victim.kill9()
            victim.start().wait_ready()
            if status == STATUSES[0]:
                cluster.redis.kill9()
                cluster.redis.start()
        for source in sources:
            cluster.wait_status(source, STATUSES[-1])
        recorded = {source: cluster.api.events(source) for source in sources}

        def untried() -> list[str]:
            return [name for name in TROUBLE if not any(receiver.met[name] for receiver in receivers)]

        # The notifiers may be behind the workers.
        wait_until(lambda: not untried(), 60, "every trouble is met")
        for receiver in receivers:
            receiver.calm()
        wanted = {event["id"] for events in recorded.values() for event in events}
        for receiver in receivers:
            wait_until(
                lambda receiver=receiver: wanted <= receiver.receipts.ids(),
                DELIVERED_WITHIN_S,
                "every event accepted",
                pause_s=0.2,
            )
        history = cluster.history(recorded)
        for receiver in receivers:
            # At-least-once delivery allows repeats, after a crash or a response that was cut.
            history.channel("webhook", receiver.receipts, doubles=True)
        history.verdict()
    finally:
        for receiver in receivers:
            receiver.close()
