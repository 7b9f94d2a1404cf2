"""Tests that operators get one message at the start and one at the end of an incident, even if processes crash."""

import json
import re

import pytest
from harness.accepting_shop import Shop
from harness.cluster import SHORT_LEASE, Cluster
from harness.commands import run
from harness.moody_receiver import MoodyReceiver
from harness.poller_api import PollerAPI
from harness.process import Process
from harness.waiting import wait_until
from test_endpoints import endpoint, genuine

# Short, so that a test need not wait a minute. The checks are half a second apart then.
HOLD = "2s"
OPERATORS = "ops@example.com"


@pytest.fixture
def shops():
    shops = [Shop(), Shop()]
    yield shops
    for shop in shops:
        shop.close()


class Watched:
    """A cluster with one endpoint for operator events, one for all other events, and a configured mail address."""

    def __init__(self, cluster: Cluster, operators: Shop, everything: Shop):
        self.cluster = cluster
        self.operators = operators
        self.everything = everything
        self.made = endpoint(cluster, "add", operators.url, "--types", "operator.*")
        endpoint(cluster, "add", everything.url)

    def events(self) -> list[dict]:
        """Returns the delivered events of incidents, in order.

        A notifier that is killed after an attempt leaves it to another one, so an event may arrive twice.
        """
        events = [json.loads(body) for _, body in self.operators.requests]
        return list({event["id"]: event for event in events}.values())

    def told(self, kind: str) -> list[str]:
        """Returns the statuses of the delivered incidents of a kind, in order."""
        return [event["status"] for event in self.events() if event["type"] == f"operator.{kind}"]

    def incidents(self) -> dict[str, list[dict]]:
        """Returns the delivered events of each incident."""
        found: dict[str, list[dict]] = {}
        for event in self.events():
            found.setdefault(event["source"], []).append(event)
        return found

    def board(self) -> tuple[dict, str]:
        """Returns the stored incident board, and the process that performed the last check."""
        with self.cluster.redis.client() as client:
            # There is none before the first check.
            keys = client.keys("poller:I{*") or ["none"]
            board, owner = client.hmget(keys[0], "b", "o")
        return json.loads(board or "{}"), owner or ""

    def kill_who_looks(self, kind: str) -> None:
        """Kills the process that detected a problem before it reports it; another process must report it."""

        def looker() -> Process | None:
            board, owner = self.board()
            is_rising = any(one["kind"] == kind for one in board.get("rising", []))
            return self.processes().get(owner) if is_rising else None

        # The problem rises for two seconds, and is reported then.
        process = wait_until(looker, 60, f"a process has detected {kind}", pause_s=0.05)
        process.kill9()
        process.start().wait_ready()
        self.cluster.api = PollerAPI(self.cluster.api_process.address("api"))

    def processes(self) -> dict[str, Process]:
        """Returns the running processes by their cluster ID."""
        roles = [*self.cluster.apis, *self.cluster.workers, *self.cluster.notifiers]
        pids = {role.pid: role for role in roles if role.running}
        listed = self.cluster.api.get("/v1/workers")["data"]
        return {one["id"]: pids[one["pid"]] for one in listed if one["pid"] in pids}

    def begins(self, kind: str) -> None:
        wait_until(lambda: self.told(kind) == ["open"], 90, f"{kind} is delivered, not {self.told(kind)}")

    def ends(self, kind: str) -> None:
        both = ["open", "resolved"]
        wait_until(lambda: self.told(kind) == both, 90, f"the end of {kind} is delivered, not {self.told(kind)}")


def no_worker(watched: Watched) -> None:
    cluster = watched.cluster
    cluster.enqueue(cluster.sandbox.create_source(), notify=[])
    cluster.workers[0].kill9()
    watched.kill_who_looks("no_worker")
    watched.begins("no_worker")
    cluster.workers[0].start().wait_ready()
    watched.ends("no_worker")


def a_receiver_that_is_gone(watched: Watched) -> None:
    cluster = watched.cluster
    gone = MoodyReceiver(status=410)
    try:
        id = endpoint(cluster, "add", gone.url, "--types", "source.pending")["id"]
        cluster.enqueue(cluster.sandbox.create_source(), notify=[])
        for kind in ("dead_letters", "endpoint_disabled"):
            watched.begins(kind)
        [shown] = [one for one in cluster.api.get("/v1/incidents")["data"] if one["kind"] == "endpoint_disabled"]
        assert shown["subject"] == id and "410" in shown["message"] and "enable" in shown["action"]
        gone.status = 204
        endpoint(cluster, "enable", id)
        [dead] = cluster.api.get("/v1/deliveries?state=dead")["data"]
        assert cluster.api.request("POST", f"/v1/deliveries/{dead['id']}/retry").ok
        for kind in ("dead_letters", "endpoint_disabled"):
            watched.ends(kind)
        # An endpoint that an operator disables is not an incident.
        endpoint(cluster, "disable", id, "--reason", "holidays")
    finally:
        gone.close()


def a_lane_that_stops(watched: Watched) -> None:
    cluster = watched.cluster
    fault = cluster.sandbox.fault("status", "/v1/sources/", status=500)
    for source in [cluster.sandbox.create_source() for _ in range(12)]:
        cluster.enqueue(source, notify=[])
    watched.kill_who_looks("lane_stopped")
    watched.begins("lane_stopped")
    cluster.sandbox.clear_fault(fault)
    watched.ends("lane_stopped")


def test_each_incident_and_its_end_are_reported_once(chaos, shops: list[Shop]):
    cluster: Cluster = chaos(
        workers=1,
        apis=2,
        listen=False,
        env=SHORT_LEASE | {"POLLER_INCIDENT_HOLD": HOLD, "POLLER_OPERATOR_NOTIFY": f"mailto:{OPERATORS}"},
    )
    watched = Watched(cluster, *shops)
    no_worker(watched)
    a_receiver_that_is_gone(watched)
    a_lane_that_stops(watched)

    # The webhooks are signed, and each incident has a start and an end. On a busy machine there may be others.
    wait_until(lambda: all(len(events) > 1 for events in watched.incidents().values()), 60, "each incident has ended")
    incidents = watched.incidents()
    assert all(genuine(watched.made["secret"], headers, body) for headers, body in watched.operators.requests)
    kinds = {"no_worker", "dead_letters", "endpoint_disabled", "lane_stopped"}
    assert kinds <= {events[0]["type"].removeprefix("operator.") for events in incidents.values()}
    for events in incidents.values():
        assert [(event["seq"], event["status"]) for event in events] == [(1, "open"), (2, "resolved")]
        assert events[1]["object"]["since"] == events[0]["object"]["since"]

    # The same messages arrive by mail, without a registered endpoint.
    def mails() -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        # By its ID, because a killed notifier may leave an event to another one.
        sent = {mail["Message-ID"]: mail for mail in cluster.mail.messages if mail["To"] == OPERATORS}
        for mail in sent.values():
            found.setdefault(mail["X-Poller-Source"], []).append(mail["Subject"])
        return found

    wait_until(lambda: sum(map(len, mails().values())) >= 2 * len(incidents), 60, "every mail has come")
    assert mails().keys() == incidents.keys()
    for begun, over in mails().values():
        assert begun.startswith("[Poller] ") and over.startswith("[Poller] over: "), (begun, over)

    # An endpoint without `types` receives only payment events, and so does the default list of events.
    heard = {json.loads(body)["type"] for _, body in watched.everything.requests}
    assert "source.pending" in heard and not [type for type in heard if type.startswith("operator.")]
    listed = cluster.api.get("/v1/events?limit=100")["data"]
    assert listed and not [event for event in listed if event["type"].startswith("operator.")]
    asked = cluster.api.get("/v1/events?types=operator.*&limit=100")["data"]
    assert {event["source"] for event in asked} == incidents.keys()

    # The incidents can also be listed later.
    shown = run("pollerctl", "incident", "list", env={"POLLER_URL": cluster.api.url}).stdout
    assert len(re.findall(r"^resolved\t", shown, re.M)) == len(incidents) and "open\t" not in shown
    assert cluster.fsck().returncode == 0
