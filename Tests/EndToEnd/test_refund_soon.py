"""Tests how soon a refund is seen: on a new cluster without webhooks, and after a manual poll."""

import json

import pytest
from harness.cluster import Cluster
from harness.commands import run
from harness.waiting import wait_until
from test_after_success import charged_source, payment_states, wait_payment


def settles(cluster: Cluster, source: str) -> dict:
    return wait_until(
        lambda: (watch := cluster.api.watch(source)).get("closed_reason") == "settled" and watch, 60, "it has ended again"
    )


def test_a_new_cluster_finds_a_refund_long_before_twenty_minutes():
    with Cluster(workers=1, listen=False, env={"POLLER_STRIPE_SWEEP_PAID": "3s"}) as cluster:
        with cluster.redis.client() as client:
            # The account was empty at the first read of both lists, so the next reads are due in 21 and 108 minutes.
            for name, pause in [("default", "1296000"), ("default~money", "6480000")]:
                wait_until(lambda: client.hget(f"poller:sweep{{{name}}}", "p") == pause, 60, f"{name} was read")
        source, charge = charged_source(cluster)
        wait_payment(cluster, source, "paid")
        cluster.sandbox._stripe("POST", "/v1/refunds", {"charge": charge})
        wait_payment(cluster, source, "refunded")
        checks = {check["name"]: check for check in cluster.api.get("/v1/doctor")["checks"]}
        assert checks["stripe events"]["status"] == "ok", checks["stripe events"]
        assert "every" in checks["stripe events"]["message"]


@pytest.fixture(scope="module")
def deaf():
    """Starts a cluster without webhooks and without a sweep."""
    with Cluster(workers=1, listen=False, env={"POLLER_STRIPE_SWEEP": "off"}) as cluster:
        yield cluster


def test_a_manual_poll_of_a_closed_payment_polls_once(deaf: Cluster):
    source, charge = charged_source(deaf)
    wait_payment(deaf, source, "paid")
    before = settles(deaf, source)
    # Without a change the poll adds no event.
    answer = deaf.api.request("POST", f"/v1/watches/{source}/poll")
    assert answer.status_code == 202, answer.text
    assert answer.json()["run"] == before["run"] + 1
    after = settles(deaf, source)
    assert after["seq"] == before["seq"] and payment_states(deaf, source)[-1] == "paid"
    deaf.sandbox._stripe("POST", "/v1/refunds", {"charge": charge})
    asked = run("pollerctl", "poll", source, env={"POLLER_URL": deaf.api.url})
    assert asked.returncode == 0 and "is due now" in asked.stdout, asked.stderr
    wait_payment(deaf, source, "refunded")
    assert settles(deaf, source)["closed_reason"] == "settled"
    assert payment_states(deaf, source)[-2:] == ["paid", "refunded"]


def test_a_cancelled_watch_is_not_polled(deaf: Cluster):
    source = deaf.enqueue_new(notify=[])
    assert deaf.api.request("DELETE", f"/v1/watches/{source}").ok
    answer = deaf.api.request("POST", f"/v1/watches/{source}/poll")
    assert answer.status_code == 409 and answer.json()["code"] == "watch_closed", json.dumps(answer.json())
