"""Tests that a stored entry that crashes its reader is set aside after a few deaths, and everything else continues.

In a debug build `POLLER_PLANTED_TRAP` ends the process at the named step, like an unknown bug. A supervisor restarts
the process at once, as systemd and Kubernetes do.
"""

import json
import threading
import time
from contextlib import contextmanager

import requests

from harness.cluster import SHORT_LEASE, Cluster, Role
from harness.commands import run
from harness.poller_api import PollerAPI
from harness.redis_server import free_port
from harness.signed_webhook import signed_webhook
from harness.waiting import wait_until

# The deaths counted before an entry is set aside. A new outbox entry ends one reader more before the count starts.
DEATHS = 3


def a_while_passes(cluster: Cluster) -> None:
    """Ages the state of a dead process: its sweep turns of a minute, its marks, and its replay."""
    with cluster.redis.client() as client:
        for key in client.keys("poller:sweep{*"):
            client.hset(key, "u", 0)
        for key in client.keys("poller:P{*"):
            for name, mark in client.hgetall(key).items():
                client.hset(key, name, " ".join([*mark.split(" ")[:2], "0"]))
        for key in client.keys("poller:d:n{*"):
            client.delete(key)


class Crashes(list):
    """The times at which a role ended. `last` is the number of deaths allowed once the entry is set aside.

    `lock` is held from a restart until its death is counted, because the new process may set the entry aside before.
    """

    last: int | None = None

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


@contextmanager
def supervised(cluster: Cluster, role: Role, trap: str, ages: bool = True):
    """Restarts a role with a planted trap whenever it ends, and yields the times of its deaths.

    With `ages`, the state of the dead process is aged before the next start.
    """
    deaths = Crashes()
    stop = threading.Event()
    # A backtrace takes many seconds on a busy machine.
    role.env = role.env | {"POLLER_PLANTED_TRAP": trap, "SWIFT_BACKTRACE": "enable=no"}
    role.kill9()
    # The process may have been working on an entry, which the next one would leave alone for a minute.
    with cluster.redis.client() as client:
        for key in client.keys("poller:P{*"):
            client.delete(key)
    role.start()

    def watch() -> None:
        while not stop.wait(0.1):
            if not role.running:
                if ages:
                    a_while_passes(cluster)
                died = time.monotonic()
                with deaths.lock:
                    role.start()
                    # Recorded after the start, so that a test that sees the death can wait for the new process.
                    deaths.append(died)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield deaths
        assert deaths.last in (None, len(deaths)), "the entry is set aside, and its reader ends all the same"
    finally:
        stop.set()
        thread.join()
        role.env = {key: value for key, value in role.env.items() if key != "POLLER_PLANTED_TRAP"}


def entries(cluster: Cluster) -> list[dict]:
    try:
        return cluster.api.get("/v1/quarantine/entries")["data"]
    except (requests.RequestException, AssertionError):
        # The API may be the process that died.
        return []


def set_aside(cluster: Cluster, reader: str, deaths: Crashes, timeout_s: float) -> dict:
    """Waits until an entry of this reader is set aside, and checks that operators can see it."""
    found = wait_until(
        lambda: [one for one in entries(cluster) if one["reader"] == reader],
        timeout_s,
        f"an entry of {reader} is set aside after {len(deaths)} deaths",
    )
    [entry] = found
    assert entry["deaths"] == DEATHS
    [check] = [one for one in cluster.api.get("/v1/doctor")["checks"] if one["name"] == "set aside"]
    assert check["status"] == "warning" and entry["id"] in check["message"]
    shown = run("pollerctl", "quarantine", "entries", env={"POLLER_URL": cluster.api.url})
    assert entry["id"] in shown.stdout, shown.stdout + shown.stderr
    # When `supervised` ends, it asserts that no further death occurred. The sleep gives the reader time to read again.
    with deaths.lock:
        deaths.last = len(deaths)
    time.sleep(2)
    return entry


def redrive(cluster: Cluster, entry: dict) -> None:
    done = run("pollerctl", "quarantine", "redrive-entry", entry["id"], env={"POLLER_URL": cluster.api.url})
    assert done.returncode == 0, done.stdout + done.stderr
    assert entries(cluster) == []


def restart(role: Role) -> None:
    role.kill9()
    role.start().wait_ready()


def test_an_outbox_entry_that_crashes_notifiers_delays_no_other_delivery(chaos):
    cluster: Cluster = chaos(listen=False)
    notifier = cluster.notifiers[0]
    poison, *others = cluster.sandbox.create_sources(12)
    with supervised(cluster, notifier, f"outbox:{poison}", ages=False) as deaths:
        cluster.enqueue(poison)
        wait_until(lambda: deaths, 60, "the first death")
        followed, early = [], set()
        for source in others:
            cluster.follow(source)
            followed.append(source)
            time.sleep(1)
            delivered = [each for each in followed if cluster.webhook.receipts.of(each)]
            # Read after the deliveries, which then came before.
            if entries(cluster):
                break
            early.update(delivered)
        assert early, f"none of {len(followed)} was delivered before the entry was set aside"
        # A delivery that a crash leaves leased is claimed again after 45 s, and the next crash may leave it again.
        cluster.wait_delivered(followed, timeout_s=45 * (DEATHS + 2), mail=False)
        entry = set_aside(cluster, "outbox", deaths, 60)
        assert entry["about"] == poison and entry["account"] == "default"
        # The first death is not counted, because the entry is still new.
        assert len(deaths) == DEATHS + 1, deaths
        gauge = 'poller_set_aside_entries{reader="outbox"} 1'
        wait_until(lambda: gauge in cluster.api_process.admin("/metrics").text, 60, gauge)
        wait_until(
            lambda: [one for one in cluster.api.get("/v1/incidents?status=open")["data"] if one["kind"] == "set_aside"],
            60,
            "operators are alerted",
        )
    ids = {event["id"] for event in cluster.api.events(poison)}
    assert ids and not ids & cluster.webhook.receipts.ids()
    restart(notifier)
    redrive(cluster, entry)
    cluster.wait_delivered([poison], mail=False)
    # The audit trail contains the change.
    actions = [one["action"] for one in cluster.api.get("/v1/audit")["data"]]
    assert "redriveSetAsideEntry" in actions


def test_a_webhook_that_crashes_the_api_is_set_aside_and_others_are_accepted(chaos):
    secret, port = "whsec_planted", free_port()
    env = {"STRIPE_WEBHOOK_SECRET": secret, "POLLER_API_BIND": f"127.0.0.1:{port}"}
    cluster: Cluster = chaos(listen=False, env=env)
    cluster.api = PollerAPI(f"http://127.0.0.1:{port}")

    def post(event: str) -> requests.Response | None:
        body = json.dumps({
            "id": event, "object": "event", "type": "source.chargeable", "livemode": False, "created": int(time.time()),
            "data": {"object": {"id": source, "object": "source"}},
        }).encode()
        try:
            return requests.post(
                f"{cluster.api.url}/v1/stripe/webhook",
                data=body,
                headers=signed_webhook(body, secret),
                timeout=30,
            )
        except requests.RequestException:
            return None

    source = cluster.enqueue_new()
    with supervised(cluster, cluster.api_process, "hint:evt_planted") as deaths:
        for count in range(1, DEATHS + 1):
            cluster.api_process.wait_ready()
            assert post("evt_planted") is None
            wait_until(lambda: len(deaths) >= count, 60, f"death {count}")
            cluster.api_process.wait_ready()
            # Another event of the same account is accepted meanwhile.
            assert post(f"evt_other{count}").status_code == 200
        answer = wait_until(lambda: post("evt_planted"), 60, "an answer")
        assert answer.status_code == 200 and answer.json()["result"] == "set_aside"
        entry = set_aside(cluster, "hint", deaths, 60)
        assert len(deaths) == DEATHS
    restart(cluster.api_process)
    redrive(cluster, entry)
    assert post("evt_planted").json()["result"] in ("accepted", "duplicate")


def test_an_upstream_event_that_crashes_workers_is_skipped(chaos):
    cluster: Cluster = chaos(listen=False, workers=1, env=SHORT_LEASE | {"POLLER_STRIPE_SWEEP": "1s"})
    worker = cluster.workers[0]
    poison, other = cluster.sandbox.create_sources(2)
    for source in (poison, other):
        cluster.follow(source)
    with supervised(cluster, worker, f"hint:{poison}") as deaths:
        worker.wait_ready()
        cluster.sandbox.authorise(poison)
        for count in range(1, DEATHS + 1):
            wait_until(lambda: len(deaths) >= count, 60, f"death {count}")
            # Polls continue between two deaths.
            source = cluster.follow_new()
        entry = set_aside(cluster, "hint", deaths, 60)
        assert entry["about"] == poison
        # The sweep has passed the entry.
        cluster.authorise(other)
    restart(worker)
    redrive(cluster, entry)


def test_a_page_of_events_that_crashes_workers_does_not_stop_polls(chaos):
    cluster: Cluster = chaos(listen=False, workers=1, env=SHORT_LEASE | {"POLLER_STRIPE_SWEEP": "1s"})
    worker = cluster.workers[0]
    source = cluster.follow_new()
    with supervised(cluster, worker, "sweep:default") as deaths:
        # Each of the two event lists has an unreadable page.
        wait_until(lambda: [one for one in entries(cluster) if one["reader"] == "sweep"], 60, "a page is set aside")
        cluster.authorise(source)
    restart(worker)

    def are_redriven() -> bool:
        for entry in entries(cluster):
            run("pollerctl", "quarantine", "redrive-entry", entry["id"], env={"POLLER_URL": cluster.api.url})
        return entries(cluster) == []

    # The new worker may still set the other page aside, because of the deaths of those before it.
    wait_until(are_redriven, 60, "no page is set aside")


def test_a_check_for_incidents_that_crashes_every_process_is_set_aside(chaos):
    cluster: Cluster = chaos(listen=False, workers=1, env=SHORT_LEASE | {"POLLER_INCIDENT_HOLD": "2s"})
    roles = [cluster.workers[0], cluster.notifiers[0]]
    trap = "incident:keys"
    with supervised(cluster, roles[0], trap) as first, supervised(cluster, roles[1], trap) as second:
        with supervised(cluster, cluster.api_process, trap) as third:
            source = cluster.sandbox.create_source()

            def deaths() -> int:
                return len(first) + len(second) + len(third)

            wait_until(lambda: deaths() >= 1, 60, "the first death")
            wait_until(lambda: deaths() >= DEATHS, 120, "the last death")
            cluster.api_process.wait_ready()
            cluster.api = PollerAPI(cluster.api_process.address("api"))
            [entry] = wait_until(
                lambda: [one for one in entries(cluster) if one["reader"] == "incident"], 60, "the part is set aside"
            )
            assert entry["id"].endswith(":keys") and deaths() == DEATHS
            # Other incidents are still checked, reported and delivered.
            cluster.follow(source)
            cluster.wait_delivered([source], mail=False)
            wait_until(
                lambda: [one for one in cluster.api.get("/v1/incidents")["data"] if one["kind"] == "set_aside"],
                60,
                "operators are alerted",
            )


def test_a_replay_that_crashes_the_api_is_rejected_after_three_crashes(chaos):
    cluster: Cluster = chaos(listen=False)
    port = free_port()
    cluster.api_process.env = cluster.api_process.env | {"POLLER_API_BIND": f"127.0.0.1:{port}"}
    restart(cluster.api_process)
    cluster.api = PollerAPI(f"http://127.0.0.1:{port}")
    made = cluster.api.request("POST", "/v1/endpoints", json={"url": cluster.webhook.url}).json()
    path = f"/v1/endpoints/{made['id']}/replay"

    def replay() -> requests.Response:
        return cluster.api.request("POST", path, json={"status": "all", "since": "2026-01-01T00:00:00.000Z"})

    with supervised(cluster, cluster.api_process, f"replay:{made['id']}") as deaths:
        for count in range(1, DEATHS + 1):
            cluster.api_process.wait_ready()
            replay_or_death(replay)
            wait_until(lambda: len(deaths) >= count, 60, f"death {count}")
        cluster.api_process.wait_ready()
        assert replay().status_code == 202
        done = wait_until(
            lambda: (job := cluster.api.get(path))["state"] != "running" and job, 60, "the outcome of the replay"
        )
        assert done["state"] == "failed" and "redrive" in done["error"]
        entry = set_aside(cluster, "replay", deaths, 60)
        source = cluster.follow_new()
        cluster.wait_delivered([source], mail=False)
    restart(cluster.api_process)
    redrive(cluster, entry)
    assert replay().status_code == 202
    done = wait_until(lambda: (job := cluster.api.get(path))["state"] != "running" and job, 60, "its end")
    assert done["state"] == "finished"


def replay_or_death(replay) -> None:
    """Starts a replay and ignores a response that is lost with the process."""
    try:
        replay()
    except requests.RequestException:
        pass


def test_a_fold_that_crashes_notifiers_is_set_aside(chaos):
    cluster: Cluster = chaos(listen=False)
    notifier = cluster.notifiers[0]
    with supervised(cluster, notifier, "retention:0") as deaths:
        set_aside(cluster, "retention", deaths, 60)
        assert len(deaths) == DEATHS
        source = cluster.follow_new()
        cluster.wait_delivered([source], mail=False)
