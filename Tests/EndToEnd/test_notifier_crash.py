"""Tests notifiers that crash between the recording of an event and its delivery."""

from harness.cluster import Cluster
from harness.waiting import wait_until


def test_events_recorded_without_a_notifier_are_delivered_by_the_next_one(chaos):
    cluster: Cluster = chaos(listen=False)
    cluster.notifiers[0].kill9()
    source = cluster.follow_new()
    cluster.authorise(source)
    cluster.charge(source)
    assert cluster.webhook.attempts == [] and cluster.mail.receipts.all() == []

    cluster.notifiers[0].start().wait_ready()
    cluster.verify([source])


def test_an_event_is_sent_again_after_a_notifier_was_killed_during_its_attempt(chaos):
    cluster: Cluster = chaos(listen=False)
    cluster.webhook.hold()
    source = cluster.enqueue_new()
    wait_until(lambda: cluster.webhook.attempts, 60, "the first attempt")
    cluster.notifiers[0].kill9()
    cluster.webhook.release()
    cluster.authorise(source)
    cluster.charge(source)

    cluster.notifiers[0].start().wait_ready()
    # The dead notifier's lease lasts 45 s. No process may claim the delivery before it expires.
    cluster.wait_delivered([source], timeout_s=120)
    # Delivery is at least once: the first event may arrive twice, with the same ID.
    cluster.verify([source], doubles=("webhook",))
    first = cluster.api.events(source)[0]["id"]
    assert cluster.webhook.attempts.count(first) >= 2


def test_with_two_notifiers_each_event_is_delivered_once(chaos):
    cluster: Cluster = chaos(notifiers=2)
    sources = cluster.sandbox.create_sources(40)
    for source in sources:
        cluster.enqueue(source)
    for source in sources:
        cluster.wait_status(source, "pending")
        cluster.sandbox.set_status(source, "failed")
    for source in sources:
        cluster.wait_status(source, "failed")
    cluster.verify(sources)


def test_a_second_sigterm_ends_a_drain_at_once(chaos):
    cluster: Cluster = chaos(listen=False, env={"POLLER_DRAIN_TIMEOUT": "60s"})
    cluster.webhook.hold()
    source = cluster.enqueue_new()
    wait_until(lambda: cluster.webhook.attempts, 60, "the attempt that is held")
    notifier = cluster.notifiers[0]
    notifier.signal(15)
    wait_until(lambda: "signal received, draining" in notifier.stderr(), 60, "the drain is logged")
    assert notifier.running
    # A drain that ends by itself exits with 0.
    assert notifier.terminate(timeout_s=50) == 1
