"""Tests delivery outcomes: attempts, dead letters, retries, open circuits, and isolation of endpoints."""

import random
import subprocess
import time

import pytest
from harness.cluster import Cluster, program
from harness.commands import pollerctl, printed
from harness.moody_receiver import MoodyReceiver
from harness.waiting import wait_until


def ctl(cluster: Cluster, *arguments: str, status: int = 0) -> list[dict]:
    return printed(pollerctl(cluster, *arguments, "--json", status=status))


# The sequence numbers of a failing payment: source pending, payment failed, source failed.
WHOLE = [1, 2, 3]


class Desk:
    """The endpoints of one test, each limited to the sources it names; they are removed after the test."""

    def __init__(self, cluster: Cluster):
        self.cluster = cluster
        self._receivers: list[MoodyReceiver] = []
        self._endpoints: list[str] = []

    def receiver(self, **options) -> MoodyReceiver:
        self._receivers.append(MoodyReceiver(**options))
        return self._receivers[-1]

    def endpoint(self, receiver: MoodyReceiver, sources: list[str], **fields) -> str:
        body = {"url": receiver.url, "sources": sources} | fields
        response = self.cluster.api.request("POST", "/v1/endpoints", json=body)
        assert response.status_code == 201, response.text
        self._endpoints.append(response.json()["id"])
        return self._endpoints[-1]

    def settle(self, sources: list[str]) -> None:
        """Makes each source pending, then failed, which records the events of `WHOLE`."""
        for source in sources:
            self.cluster.enqueue(source, notify=[])
        for source in sources:
            self.cluster.wait_status(source, "pending")
            self.cluster.sandbox.set_status(source, "failed")
        for source in sources:
            self.cluster.wait_status(source, "failed")

    def deliveries(self, endpoint: str, **filters) -> list[dict]:
        query = "&".join(f"{name}={value}" for name, value in filters.items())
        return self.cluster.api.get(f"/v1/deliveries?endpoint={endpoint}&limit=500&{query}")["data"]

    def wait_state(self, endpoint: str, state: str, count: int, timeout_s: float = 60) -> list[dict]:
        def look() -> list[dict] | None:
            found = self.deliveries(endpoint)
            stand = [delivery for delivery in found if delivery["state"] == state]
            return stand if len(stand) == count else None

        return wait_until(look, timeout_s, f"{count} deliveries are {state}", pause_s=0.1)

    def all_told(self, receiver: MoodyReceiver, sources: list[str], timeout_s: float = 60) -> None:
        """Waits until a receiver has accepted the last event of each source.

        A delivery may also be done between two events.
        """
        wait_until(
            lambda: all(receiver.told(source)[-1:] == WHOLE[-1:] for source in sources),
            timeout_s,
            "the last events are delivered",
        )

    def close(self) -> None:
        for endpoint in self._endpoints:
            self.cluster.api.request("DELETE", f"/v1/endpoints/{endpoint}")
        for receiver in self._receivers:
            receiver.close()


@pytest.fixture
def desk(calm: Cluster):
    desk = Desk(calm)
    yield desk
    desk.close()


def test_regression_4_a_lease_shorter_than_an_attempt_is_rejected():
    done = subprocess.run(
        [program("pollerd"), "check-config", "--delivery-lease", "30s"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0 and "delivery-lease" in done.stderr and "45s" in done.stderr


def test_attempts_are_shown_and_a_dead_letter_can_be_retried(calm: Cluster, desk: Desk):
    [source] = calm.sandbox.create_sources(1)
    receiver = desk.receiver(status=500)
    endpoint = desk.endpoint(receiver, [source], retry=["1s"])
    desk.settle([source])
    # The first event may be dead-lettered before the others are recorded.
    wait_until(lambda: [d["dead_seqs"] for d in desk.deliveries(endpoint)] == [WHOLE], 60, "all events are dead letters")
    [dead] = desk.wait_state(endpoint, "dead", 1)
    assert dead["last_error"] == "answered 500"

    attempts = ctl(calm, "delivery", "attempts", dead["id"])
    # An extra attempt, which a new event triggers, keeps the attempt number.
    assert {(a["seq"], a["number"]) for a in attempts} == {(seq, n) for seq in WHOLE for n in (1, 2)}
    for attempt in attempts:
        assert (attempt["outcome"], attempt["class"], attempt["code"]) == ("failed", "server_error", 500)
        assert attempt["address"].startswith("127.0.0.1:") and attempt["ms"]["total"] is not None
        assert attempt["excerpt"] == "the answer is \ufffd[1m500"
    [listed] = ctl(calm, "delivery", "list", "--source", source, "--state", "dead")
    assert listed["id"] == dead["id"]

    receiver.status = 200
    # Otherwise the first event may be delivered before the command prints the delivery.
    receiver.hold()
    [retried] = ctl(calm, "delivery", "retry", dead["id"])
    assert retried["retrying_seqs"] == WHOLE
    receiver.release()
    [done] = desk.wait_state(endpoint, "done", 1)
    assert done["dead_seqs"] == [] and receiver.told(source) == WHOLE
    refused = {event["id"] for _, event, status in receiver.requests if status == 500}
    assert {event["id"] for event in receiver.accepted} == refused
    ctl(calm, "delivery", "retry", dead["id"], status=1)


def test_dismissed_dead_letters_and_those_of_deleted_endpoints_cause_no_warning(calm: Cluster, desk: Desk):
    # Few enough that no endpoint's circuit opens, which would hold the deliveries in question.
    sources = calm.sandbox.create_sources(2)
    receiver = desk.receiver(status=500)
    dismissed, dead, slow = (desk.endpoint(receiver, sources, retry=retry) for retry in ("none", "none", ["1h"]))
    desk.settle(sources)
    for endpoint in (dismissed, dead):
        wait_until(
            lambda: [d["dead_seqs"] for d in desk.deliveries(endpoint)] == [WHOLE] * 2, 60, "all events are dead letters"
        )
    desk.wait_state(slow, "failing", 2)

    def doctor() -> str:
        return next(check["message"] for check in calm.api.get("/v1/doctor")["checks"] if check["name"] == "deliveries")

    def counted() -> int:
        return calm.api.get("/v1/stats")["deliveries_dead"]

    before = counted()
    assert "have dead letters" in doctor()
    [one] = ctl(calm, "delivery", "dismiss", desk.deliveries(dismissed)[0]["id"])
    assert one["state"] == "done" and one["dead_seqs"] == []
    [other] = ctl(calm, "delivery", "dismiss", "--endpoint", dismissed)
    assert other["id"] != one["id"] and counted() == before - 2
    assert ctl(calm, "delivery", "attempts", one["id"]), "the attempts are kept"
    ctl(calm, "delivery", "retry", one["id"], status=1)
    for endpoint in (dead, slow):
        ctl(calm, "endpoint", "remove", endpoint)
    wait_until(lambda: counted() == before - 4, 60, "those of the removed one went with it")
    for endpoint in (dead, slow):
        # The next attempt would be an hour later, which is too long after the endpoint was removed.
        wait_until(
            lambda: {one["state"] for one in desk.deliveries(endpoint)} <= {"done"}, 60, "nothing of it is tried again"
        )
    for endpoint in (dismissed, dead, slow):
        assert not desk.deliveries(endpoint, state="dead") and not desk.deliveries(endpoint, state="failing")


def test_a_410_disables_only_its_endpoint_at_once(calm: Cluster, desk: Desk):
    sources = calm.sandbox.create_sources(2)
    gone, well = desk.receiver(status=410), desk.receiver()
    endpoint, other = desk.endpoint(gone, sources), desk.endpoint(well, sources)
    desk.settle(sources)
    desk.wait_state(other, "done", 2)

    def disabled() -> dict | None:
        found = calm.api.get(f"/v1/endpoints/{endpoint}")
        return found if found["state"] == "disabled" else None

    found = wait_until(disabled, 60, "the endpoint is disabled")
    assert "410" in found["disabled_reason"]

    def noted() -> dict | None:
        entries = calm.api.get(f"/v1/audit?target={endpoint}&action=disableEndpoint")["data"]
        return entries[0] if entries else None

    entry = wait_until(noted, 60, "the audit trail has it")
    assert entry["by"] == "pollerd" and entry["before"] == {"state": "enabled"}
    assert entry["after"] == {"state": "disabled", "disabled_reason": found["disabled_reason"]}
    desk.all_told(well, sources)
    assert [well.told(source) for source in sources] == [WHOLE] * 2


def test_regression_13_retry_after_holds_the_endpoint(calm: Cluster, desk: Desk):
    sources = calm.sandbox.create_sources(3)
    receiver = desk.receiver(status=429, headers={"Retry-After": "3"})
    endpoint = desk.endpoint(receiver, sources[:2], retry=["1s"] * 10)
    desk.settle(sources[:1])
    wait_until(lambda: receiver.requests, 60, "the first attempt")
    first = receiver.requests[0][0]
    wait_until(lambda: desk.deliveries(endpoint, state="failing"), 60, "its outcome is recorded")
    receiver.status = 200
    desk.settle(sources[1:2])
    desk.all_told(receiver, sources[:2])
    desk.wait_state(endpoint, "done", 2)
    # No event is sent before, not even one of another source.
    assert receiver.requests[1][0] - first >= 2.9
    assert [receiver.told(source) for source in sources[:2]] == [WHOLE] * 2


def test_regression_15_an_endpoint_that_is_down_is_probed_rarely_and_receives_everything_later(
    calm: Cluster, desk: Desk
):
    sources = calm.sandbox.create_sources(16)
    receiver = desk.receiver(status=503)
    endpoint = desk.endpoint(receiver, sources)
    desk.settle(sources)

    def circuit() -> str | None:
        # An event is recorded before its delivery is created.
        for first in desk.deliveries(endpoint)[:1]:
            return calm.api.get(f"/v1/deliveries/{first['id']}")["endpoint_health"]["circuit"]
        return None

    wait_until(lambda: circuit() == "open", 60, "the circuit is open")
    wait_until(lambda: not desk.deliveries(endpoint, state="in_flight"), 60, "nothing is in flight")
    # Ten consecutive failures open the circuit; the others were in flight in the endpoint's slots.
    attempts = len(receiver.requests)
    assert attempts <= 10 + 16
    assert sum(delivery["failures"] for delivery in desk.deliveries(endpoint)) <= attempts

    receiver.status = 200
    assert len(receiver.requests) == attempts, "something went out while it was open"
    ctl(calm, "delivery", "retry", desk.deliveries(endpoint)[0]["id"])
    desk.wait_state(endpoint, "done", 16)
    assert [receiver.told(source) for source in sources] == [WHOLE] * 16


def test_an_unreliable_receiver_gets_every_event_once_and_in_order(calm: Cluster, desk: Desk):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    sources = calm.sandbox.create_sources(20)
    # Three of four requests are accepted, so the ten consecutive refusals that would open the circuit are unlikely.
    receiver = desk.receiver(mood=lambda: chance.choice([200, 201, 204, 204, 200, 202, 500, 408]))
    endpoint = desk.endpoint(receiver, sources, retry=["1s"] * 20)
    desk.settle(sources)
    desk.all_told(receiver, sources)
    desk.wait_state(endpoint, "done", 20)
    assert [receiver.told(source) for source in sources] == [WHOLE] * 20
    # Every attempt of an event has the same ID.
    ids = {(event["source"], event["seq"]): event["id"] for _, event, _ in receiver.requests}
    assert all(event["id"] == ids[event["source"], event["seq"]] for _, event, _ in receiver.requests)


def test_a_hanging_endpoint_does_not_delay_others(calm: Cluster, desk: Desk):
    sources = calm.sandbox.create_sources(30)
    pit, well = desk.receiver(hang=True), desk.receiver()
    desk.endpoint(pit, sources, timeout="30s")
    other = desk.endpoint(well, sources)
    desk.settle(sources)
    recorded = time.monotonic()
    desk.all_told(well, sources)
    desk.wait_state(other, "done", 30)
    # Below the 30 s of an attempt at the hanging endpoint.
    assert max(at for at, _, _ in well.requests) - recorded < 25
    assert [well.told(source) for source in sources] == [WHOLE] * 30
    assert pit.requests


def test_a_replay_resends_events_since_a_time_in_order_with_the_same_ids(calm: Cluster, desk: Desk):
    sources = calm.sandbox.create_sources(3)
    receiver = desk.receiver()
    endpoint = desk.endpoint(receiver, sources)
    desk.settle(sources)
    desk.all_told(receiver, sources)
    desk.wait_state(endpoint, "done", 3)
    [counted] = ctl(calm, "delivery", "replay", endpoint, "--status", "all", "--since", "1h", "--dry-run")
    assert (counted["state"], counted["matched"], counted["events"]) == ("finished", 3, 3 * len(WHOLE))
    assert len(receiver.requests) == 3 * len(WHOLE)

    [replay] = ctl(calm, "delivery", "replay", endpoint, "--status", "all", "--since", "1h")
    assert (replay["matched"], replay["events"], replay["busy"]) == (3, 3 * len(WHOLE), 0)
    wait_until(lambda: len(receiver.requests) == 6 * len(WHOLE), 60, "everything came twice")
    for source in sources:
        assert receiver.told(source) == WHOLE + WHOLE
    assert len({event["id"] for event in receiver.accepted}) == 3 * len(WHOLE)
    [shown] = ctl(calm, "delivery", "replay", endpoint, "--show")
    assert shown == replay
    ctl(calm, "delivery", "replay", "ep_" + "A" * 16, "--show", status=1)


def test_the_fallback_receives_an_event_once_if_it_was_not_accepted_in_time(calm: Cluster, desk: Desk):
    [source] = calm.sandbox.create_sources(1)
    broken, backup = desk.receiver(status=500), desk.receiver()
    fallback = desk.endpoint(backup, ["src_nobody"])
    endpoint = desk.endpoint(
        broken, [source], retry=["1h"], notify_by={"within": "2s", "endpoint": fallback}
    )
    desk.settle([source])
    wait_until(lambda: backup.requests, 60, "the fallback has the event")
    [(_, event, _)] = backup.requests
    assert event["id"] == broken.requests[0][1]["id"] and event["seq"] == 1
    [delivery] = desk.deliveries(endpoint)
    assert delivery["failures"] == 1, "an attempt for the fallback uses nothing of the schedule"


def test_after_a_failure_a_coalescing_endpoint_receives_only_the_newest_event(calm: Cluster, desk: Desk):
    [source] = calm.sandbox.create_sources(1)
    receiver = desk.receiver(status=500)
    endpoint = desk.endpoint(receiver, [source], retry=["1s"] * 20, coalesce=True)
    desk.settle([source])
    wait_until(lambda: desk.deliveries(endpoint, state="failing"), 60, "it has failed")
    # The second attempt from now on has read the log with all events.
    before = len(receiver.requests)
    wait_until(lambda: len(receiver.requests) >= before + 2, 60, "it fails with all events recorded")
    receiver.status = 200
    desk.all_told(receiver, [source])
    desk.wait_state(endpoint, "done", 1)
    assert [event["seq"] for event in receiver.accepted] == WHOLE[-1:]
    assert receiver.accepted[0]["skipped_seqs"] == WHOLE[:-1] and receiver.accepted[0]["final"]
