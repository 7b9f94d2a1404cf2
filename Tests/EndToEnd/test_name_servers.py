"""Tests that silent name servers of some customers do not delay webhooks to other customers."""

import pytest
from harness.cluster import program
from harness.tarpit_dns import TarpitDNS, obstacle
from harness.waiting import wait_until

# Two customers. Each has a zone whose name server never answers, and many names in it.
SILENT = ("mire-one.test", "mire-two.test")
NAMES_EACH = 40
GOOD = [f"shop-{n}.good.test" for n in range(5)]


@pytest.fixture
def dns(tmp_path):
    reason = obstacle()
    if reason:
        pytest.skip(reason)
    server = TarpitDNS(SILENT, tmp_path)
    yield server
    server.close()


def test_silent_name_servers_do_not_delay_other_receivers(chaos, dns: TarpitDNS):
    cluster = chaos(workers=1, notifiers=0, listen=False)
    notifier = cluster.role("notifier", "notifier")
    notifier.command = dns.command(program("pollerd"), "notifier")
    notifier.start().wait_ready()
    port = cluster.webhook.url.split(":")[2]

    for n in range(NAMES_EACH):
        for zone in SILENT:
            cluster.enqueue(cluster.sandbox.create_source(), notify=[f"http://h{n}.{zone}:{port}"])
    wait_until(lambda: any(dns.asked_below(zone) for zone in SILENT), 60, "a silent zone is asked")
    for _round in range(2):
        sources = {cluster.sandbox.create_source(): name for name in GOOD}
        for source, name in sources.items():
            cluster.enqueue(source, notify=[f"http://{name}:{port}/hook"])
        # A query for a silent name blocks its thread for 40 s, longer than the wait allowed here.
        wait_until(
            lambda: {receipt.source for receipt in cluster.webhook.receipts.all()} >= set(sources),
            30, "the others have their events",
        )
    # Names in the silent zones were queried throughout, and none was answered.
    wait_until(lambda: all(dns.asked_below(zone) >= 2 for zone in SILENT), 60, "both silent zones are asked")
