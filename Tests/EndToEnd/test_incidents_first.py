"""Tests the most urgent incidents: a revoked key, failing endpoints and dead letters."""

import time

import pytest
from harness.accepting_shop import Shop
from harness.cluster import Cluster
from harness.commands import run
from harness.moody_receiver import MoodyReceiver
from harness.waiting import wait_until
from test_endpoints import endpoint
from test_incidents import HOLD, Watched

# The promised time until the incident, and an allowance for a busy machine. A stopped lane is reported after a minute.
SOON_S = 10 + 25


@pytest.fixture
def shops():
    shops = [Shop(), Shop()]
    yield shops
    for shop in shops:
        shop.close()


def open_incidents(cluster: Cluster) -> list[dict]:
    return cluster.api.get("/v1/incidents?status=open")["data"]


def kinds(cluster: Cluster) -> list[str]:
    return [one["kind"] for one in open_incidents(cluster)]


def test_a_revoked_key_is_the_first_incident_within_ten_seconds(chaos):
    # With default settings, checks are five seconds apart, and a stopped lane is reported after a minute.
    cluster: Cluster = chaos(workers=1, listen=False)
    gone = MoodyReceiver(status=410)
    try:
        endpoint(cluster, "add", gone.url, "--types", "source.pending")
        sources = [cluster.sandbox.create_source() for _ in range(3)]
        for source in sources:
            cluster.enqueue(source, policy="interactive", notify=[])
        wait_until(lambda: {"dead_letters", "endpoint_disabled"} <= set(kinds(cluster)), 60, "earlier incidents are delivered")
        cluster.sandbox.fault("status", "/v1/", status=401)
        began = wait_until(
            lambda: any("401" in (cluster.api.watch(one).get("last_error") or "") for one in sources) and time.monotonic(),
            60, "a poll has met it", pause_s=0.05,
        )
        first = wait_until(lambda: (found := open_incidents(cluster))[0]["kind"] == "credentials_refused" and found[0], 60, "the incident is open")
        assert time.monotonic() - began < SOON_S
        assert first["subject"] == "default" and "refuses the key of account default (401)" in first["message"]
        assert "STRIPE_API_KEY" in first["action"]
        # The same problem is not also reported as a stopped lane or a backlog.
        time.sleep(8)
        assert not {"lane_stopped", "backlog"} & set(kinds(cluster)), kinds(cluster)
        assert kinds(cluster)[0] == "credentials_refused"
        shown = run("pollerctl", "incident", "list", "--open", env={"POLLER_URL": cluster.api.url}).stdout
        assert shown.splitlines()[0].startswith("open\tcredentials_refused\t"), shown
    finally:
        gone.close()


def test_a_receiver_that_is_down_and_its_recovery_are_each_reported_once(chaos, shops: list[Shop]):
    cluster: Cluster = chaos(
        workers=1, listen=False, env={"POLLER_INCIDENT_HOLD": HOLD, "POLLER_ENDPOINT_FAILING_AFTER": "4s"}
    )
    watched = Watched(cluster, *shops)
    down = MoodyReceiver(status=503)
    try:
        id = endpoint(cluster, "add", down.url, "--types", "source.pending")["id"]
        cluster.enqueue(cluster.sandbox.create_source(), notify=[])
        wait_until(lambda: down.requests, 60, "it is tried")
        watched.begins("endpoint_failing")

        def failing() -> dict:
            [found] = [one for one in open_incidents(cluster) if one["kind"] == "endpoint_failing"]
            return found

        # The last error is missing from the message while the next attempt is in progress.
        shown = wait_until(lambda: "503" in (found := failing())["message"] and found, 60, "the message has the last error")
        assert shown["subject"] == id and id in shown["message"]
        health = cluster.api.get(f"/v1/endpoints/{id}")["health"]
        assert shown["since"] == health["failing_since"] and shown["since"] < shown["opened_at"]
        down.status = 200
        run("pollerctl", "delivery", "replay", id, env={"POLLER_URL": cluster.api.url})
        for delivery in cluster.api.get(f"/v1/deliveries?endpoint={id}&state=failing")["data"]:
            cluster.api.request("POST", f"/v1/deliveries/{delivery['id']}/retry")
        watched.ends("endpoint_failing")
    finally:
        down.close()


def test_dead_letters_are_an_incident_until_they_are_sent(chaos, shops: list[Shop]):
    cluster: Cluster = chaos(workers=1, listen=False, env={"POLLER_INCIDENT_HOLD": HOLD})
    watched = Watched(cluster, *shops)
    bad = MoodyReceiver(status=500)
    try:
        id = endpoint(cluster, "add", bad.url, "--retry", "none")["id"]
        source = cluster.enqueue_new(policy="interactive", notify=[])
        watched.begins("dead_letters")
        endpoint(cluster, "disable", id, "--reason", "holidays")
        cluster.authorise(source)
        # A new event reactivates the delivery with the dead letter, which then waits for its endpoint.
        wait_until(
            lambda: [one["state"] for one in cluster.api.get(f"/v1/deliveries?endpoint={id}")["data"]] == ["waiting"], 60, "deliveries continue"
        )
        time.sleep(6)
        assert watched.told("dead_letters") == ["open"], "its dead letters remain"
        bad.status = 200
        endpoint(cluster, "enable", id)
        wait_until(lambda: any(status == 200 for _, _, status in bad.requests), 60, "a new event is accepted")
        time.sleep(6)
        assert watched.told("dead_letters") == ["open"], "the dead letters are not delivered"
        # The delivery is listed by its dead letter once all new events are sent.
        dead_letters = f"/v1/deliveries?endpoint={id}&state=dead"
        [dead] = wait_until(lambda: cluster.api.get(dead_letters)["data"], 60, "new events are sent")
        assert cluster.api.request("POST", f"/v1/deliveries/{dead['id']}/retry").ok
        watched.ends("dead_letters")
    finally:
        bad.close()


def test_a_killed_worker_is_reported_as_lost_a_stopped_one_as_clean(chaos):
    cluster: Cluster = chaos(workers=2, listen=False)
    listed = {one["pid"]: one for one in cluster.api.get("/v1/workers")["data"]}
    killed, ended = (listed[worker.pid] for worker in cluster.workers)
    cluster.workers[0].kill9()
    cluster.workers[1].terminate()

    def departed() -> dict[str, str] | None:
        found = {one["process"]["id"]: one["how"] for one in cluster.api.get("/v1/workers/departed")["data"]}
        return found if {killed["id"], ended["id"]} <= found.keys() else None

    found = wait_until(departed, 60, "both incidents are delivered")
    assert (found[killed["id"]], found[ended["id"]]) == ("lost", "clean")
    shown = run("pollerctl", "worker", "departed", env={"POLLER_URL": cluster.api.url}).stdout
    # A process that did not run for seconds counts as lost for that time.
    assert {line.split("\t")[0] for line in shown.splitlines()} == {"clean", "lost"}, shown
    cluster.workers[0].start().wait_ready()
