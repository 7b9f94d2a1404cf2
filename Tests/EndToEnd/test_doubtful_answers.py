"""Tests that inconclusive answers close no watch.

Such answers are a proxy's error pages, 404s of a lagging replica, and rate limits of one object.
"""

import json
import time

import pytest
import requests
from harness.cluster import Cluster
from harness.redis_server import free_port
from harness.signed_webhook import signed_webhook
from harness.waiting import wait_until

# The default limits; the suite's higher ones would hide a lane that is slowed or held.
USERS_LIMITS = {
    "POLLER_LANE_RATE": "20", "POLLER_LANE_BURST": "5", "POLLER_LANE_CONCURRENCY": "20", "POLLER_STRIPE_SWEEP": "off",
}


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=1, notifiers=1, listen=False, env=USERS_LIMITS) as cluster:
        yield cluster


def lane(cluster: Cluster, name: str = "default/sources") -> dict:
    return next(lane for lane in cluster.api.get("/v1/lanes")["data"] if lane["id"] == name)


def watched(cluster: Cluster, source: str, **fields) -> str:
    cluster.enqueue(source, policy="interactive", notify=[], **fields)
    return source


def poke(cluster: Cluster, source: str) -> None:
    assert cluster.api.request("POST", f"/v1/watches/{source}/poll").ok


@pytest.mark.parametrize("fault", [
    {"mode": "html"}, {"mode": "half_json"}, {"mode": "status", "status": 408},
    *[pytest.param(fault, marks=pytest.mark.long) for fault in [
        {"mode": "html", "status": 302}, {"mode": "html", "status": 400}, {"mode": "html", "status": 404}, {"mode": "gzip"},
    ]],
], ids=lambda fault: "-".join(str(value) for value in fault.values()))
def test_an_outage_closes_no_watch_and_polls_continue_after_it(cluster: Cluster, fault: dict):
    sources = [watched(cluster, source) for source in cluster.sandbox.create_sources(15)]
    for source in sources:
        cluster.wait_status(source, "pending")
    strange = cluster.sandbox.fault(fault["mode"], "/v1/sources/", **{k: v for k, v in fault.items() if k != "mode"})
    wait_until(lambda: lane(cluster)["circuit"] != "closed", 60, "the circuit is open")
    # Hints do not close the watches either: each causes a poll as soon as the lane permits.
    for _ in range(3):
        for source in sources:
            poke(cluster, source)
        time.sleep(1)
    for source in sources:
        assert cluster.api.watch(source)["state"] == "open", source
    cluster.sandbox.clear_fault(strange)
    for source in sources:
        cluster.sandbox.set_status(source, "chargeable")
    for source in sources:
        cluster.wait_status(source, "chargeable", timeout_s=90)
    assert lane(cluster)["circuit"] == "closed"
    # The next outage must affect only watches of its own.
    for source in sources:
        cluster.sandbox.set_status(source, "failed")
        poke(cluster, source)
    for source in sources:
        cluster.wait_status(source, "failed")


def test_one_unreadable_object_does_not_delay_others(cluster: Cluster):
    (odd,) = cluster.sandbox.create_sources(1)
    fault = cluster.sandbox.fault("gzip", f"/v1/sources/{odd}")
    watched(cluster, odd)
    wait_until(lambda: cluster.api.watch(odd)["attempts"] >= 1, 60, "it is polled")
    for _ in range(12):
        poke(cluster, odd)
        time.sleep(0.2)
    wait_until(lambda: "encoded as gzip" in (cluster.api.watch(odd).get("last_error") or ""), 60, "the reason is shown")
    assert cluster.api.watch(odd)["state"] == "open"
    for source in [watched(cluster, source) for source in cluster.sandbox.create_sources(10)]:
        cluster.wait_status(source, "pending", timeout_s=30)
    assert lane(cluster)["circuit"] == "closed"
    cluster.sandbox.clear_fault(fault)


def test_an_object_that_becomes_readable_after_two_seconds_is_watched(cluster: Cluster):
    (source,) = cluster.sandbox.create_sources(1)
    fault = cluster.sandbox.fault("not_yet", f"/v1/sources/{source}")
    watched(cluster, source)
    wait_until(lambda: cluster.api.watch(source)["attempts"] >= 1, 60, "it is polled")
    cluster.wait_status(source, "pending")
    assert [event["type"] for event in cluster.api.events(source)] == ["source.pending"]
    assert cluster.sandbox.polls(source)[0]["status"] == 404
    cluster.sandbox.clear_fault(fault)


def test_an_id_unknown_to_stripe_is_gone_after_several_polls(cluster: Cluster):
    source = "src_that_never_was"
    watched(cluster, source)
    wait_until(lambda: "404" in (cluster.api.watch(source).get("last_error") or ""), 60, "the reason is shown at once")
    assert cluster.api.watch(source)["state"] == "open"
    end = wait_until(lambda: cluster.api.watch(source).get("closed_reason"), 60, "it ends")
    assert end == "gone"
    assert [event["type"] for event in cluster.api.events(source)] == ["watch.gone"]


def test_a_single_404_of_a_known_object_does_not_close_its_watch(cluster: Cluster):
    (source,) = cluster.sandbox.create_sources(1)
    watched(cluster, source)
    cluster.wait_status(source, "pending")
    # After this time the object no longer counts as new.
    time.sleep(16)
    body = {"error": {"type": "invalid_request_error", "code": "resource_missing", "message": "No such source"}}
    cluster.sandbox.fault("status", f"/v1/sources/{source}", status=404, body=body, times=1)
    poke(cluster, source)
    # The next successful poll removes the error from the watch.
    wait_until(lambda: 404 in [poll["status"] for poll in cluster.sandbox.polls(source)], 60, "it was asked")
    cluster.set_status(source, "chargeable")


def test_a_limit_of_one_object_does_not_slow_others(cluster: Cluster):
    hot, *others = cluster.sandbox.create_sources(21)
    fault = cluster.sandbox.fault("rate_limit", f"/v1/sources/{hot}", reason="resource-specific")
    watched(cluster, hot)
    wait_until(lambda: len(cluster.sandbox.polls(hot)) >= 3, 60, "it is limited, again and again")
    assert lane(cluster)["factor"] == 1
    for source in others:
        watched(cluster, source)
    for source in others:
        cluster.wait_status(source, "pending", timeout_s=30)
    assert lane(cluster)["factor"] == 1
    cluster.sandbox.clear_fault(fault)
    poke(cluster, hot)
    cluster.wait_status(hot, "pending")


@pytest.mark.parametrize("reason", ["global-rate", "endpoint-concurrency"])
def test_a_limit_of_more_than_one_object_slows_the_lane(cluster: Cluster, reason: str):
    (source,) = cluster.sandbox.create_sources(1)
    cluster.sandbox.fault("rate_limit", f"/v1/sources/{source}", reason=reason, times=1)
    watched(cluster, source)
    wait_until(lambda: lane(cluster)["factor"] < 1, 60, "the lane is slowed")
    cluster.wait_status(source, "pending")


def test_a_webhook_reopens_a_watch_quarantined_for_unreadable_responses(chaos):
    port = free_port()
    secret = "whsec_" + "ab12" * 8
    env = USERS_LIMITS | {"POLLER_QUARANTINE_AFTER": "0s"}
    cluster: Cluster = chaos(listen=False, workers=1, env=env)
    taker = cluster.role("taker", "api", {"POLLER_API_BIND": f"127.0.0.1:{port}", "STRIPE_WEBHOOK_SECRET": secret})
    taker.start().wait_ready()
    (source,) = cluster.sandbox.create_sources(1)
    watched(cluster, source)
    cluster.wait_status(source, "pending")
    fault = cluster.sandbox.fault("html", f"/v1/sources/{source}")

    def given_up() -> bool:
        found = cluster.api.get(f"/v1/watches/{source}/explain")
        # A poll that is requested during another one reopens the watch if that one closes it.
        if found["place"] == "waiting":
            cluster.api.request("POST", f"/v1/watches/{source}/poll")
        return found.get("closed_reason") == "dead"

    wait_until(given_up, 60, "it is in quarantine", pause_s=0.3)
    run = cluster.api.watch(source)["run"]
    assert [watch["source"] for watch in cluster.api.get("/v1/quarantine")["data"]] == [source]
    cluster.sandbox.clear_fault(fault)
    cluster.sandbox.set_status(source, "chargeable")
    event = {"id": "evt_1", "object": "event", "type": "source.chargeable", "created": 1, "livemode": False,
             "data": {"object": {"id": source, "object": "source", "status": "chargeable"}}}
    body = json.dumps(event).encode()
    answer = requests.post(f"http://127.0.0.1:{port}/v1/stripe/webhook", data=body, timeout=60,
                           headers=signed_webhook(body, secret))
    assert answer.ok and answer.json()["hinted"] == 1, answer.text
    watch = cluster.wait_status(source, "chargeable")
    assert watch["state"] == "open" and watch["run"] == run + 1
    assert cluster.api.get("/v1/quarantine")["data"] == []
    # The watch continues to its final status like any other.
    cluster.charge(source)
    assert cluster.fsck().returncode == 0
