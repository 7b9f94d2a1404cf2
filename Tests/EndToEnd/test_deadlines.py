"""Tests that the shop is warned before an authorisation expires, even if all workers were down meanwhile."""

import pytest
from harness.faked_clock import FakedClock
from harness.preloaded import IS_HERE
from harness.waiting import wait_until

pytestmark = pytest.mark.skipif(not IS_HERE, reason="needs a C compiler on Linux")


def test_an_expiring_authorisation_is_reported_to_the_shop_but_not_the_payer(chaos, tmp_path):
    clock = FakedClock(tmp_path / "clock")
    cluster = chaos(redis_env=clock.env)
    source = cluster.follow_new()
    cluster.authorise(source)

    def warnings() -> list[dict]:
        events = cluster.api.events(source)
        return [e for e in events if (e.get("payment") or {}).get("reason") == "window_closing"]

    # The source can be charged for at most seven hours.
    clock.set(216 * 60)
    first = wait_until(warnings, 60, "half of the time is over")
    assert [event["type"] for event in first] == ["payment.authorised"]
    assert (first[0]["status"], first[0]["final"]) == ("chargeable", False)
    for worker in cluster.workers:
        worker.kill9()
    clock.set(390 * 60)
    for worker in cluster.workers:
        worker.start().wait_ready()
    wait_until(lambda: len(warnings()) == 2, 60, "a tenth is left")
    cluster.wait_delivered([source])
    mailed = cluster.mail.receipts.ids()
    assert not mailed & {event["id"] for event in warnings()}
    assert {event["id"] for event in warnings()} <= cluster.webhook.receipts.ids()
    assert cluster.fsck().returncode == 0
