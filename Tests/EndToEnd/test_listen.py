"""Tests that `pollerctl listen` forwards every event to a developer's program, even if processes are killed."""

import json
import random
import threading
import time
from pathlib import Path

import pytest
import requests
from standardwebhooks.webhooks import Webhook

from harness.cluster import Cluster, program
from harness.commands import run
from harness.process import Process
from harness.redis_server import free_port
from harness.waiting import wait_until
from harness.webhook_sink import WebhookSink

SECRET = "whsec_" + "bGlzdGVuLXRlc3RzLXVzZS10aGlzLXNlY3JldC4uLi4="


class Listener(Process):
    """`pollerctl listen`, which stores its position in `state`."""

    def __init__(self, cluster: Cluster, state: Path, *arguments: str, secret: str | None = SECRET):
        env = {"POLLER_URL": cluster.api.url, "XDG_STATE_HOME": str(state)}
        if secret:
            env["POLLER_LISTEN_SECRET"] = secret
        super().__init__(
            f"listen{len(cluster.processes)}", [program("pollerctl"), "listen", *arguments],
            cluster.logs, env,
        )
        cluster.processes.append(self)

    def wait_ready(self) -> "Listener":
        wait_until(lambda: "forwarding to" in self.stderr(), 60, "listen has begun")
        return self

    def told(self) -> list[str]:
        """Returns the sources of the printed lines since the last start, in order."""
        return [line.split("\t")[2] for line in self.stdout().splitlines()]


def test_a_receiver_prints_webhooks_and_checks_their_signatures(calm: Cluster, tmp_path: Path):
    port = free_port()
    env = {"POLLER_URL": calm.api.url, "XDG_STATE_HOME": str(tmp_path)}
    command = [program("pollerctl"), "listen", "--print", "--port", str(port)]
    receiver = Process("print", command, calm.logs, env).start()
    calm.processes.append(receiver)
    wait_until(lambda: "printing webhooks sent to" in receiver.stderr(), 60, "it listens")
    hook = f"http://127.0.0.1:{port}/hook"
    source = calm.follow_new(notify=[hook])
    calm.sandbox.set_status(source, "failed")
    wait_until(lambda: "source.failed" in receiver.stdout(), 60, "the webhooks arrive")
    mine = [line.split("  ") for line in receiver.stdout().splitlines() if source in line]
    assert [(line[0], line[2]) for line in mine] == [
        (event["type"], f"seq {event['seq']}") for event in calm.api.events(source)
    ]
    assert {line[-1] for line in mine} == {"signature verified"}
    # An endpoint signs with a separate secret.
    made = calm.api.request("POST", "/v1/endpoints", json={"url": hook, "types": ["order.paid_twice"]}).json()
    assert calm.api.request("POST", f"/v1/endpoints/{made['id']}/test").json()["delivered"]
    wait_until(lambda: "endpoint.test" in receiver.stdout(), 60, "the test arrives")
    assert "signed with another secret" in receiver.stdout().splitlines()[-1]
    calm.api.request("DELETE", f"/v1/endpoints/{made['id']}")
    unsigned = requests.post(hook, data="no event", timeout=30)
    assert unsigned.status_code == 204
    assert requests.get(hook, timeout=30).status_code == 405
    wait_until(lambda: "not a poller event" in receiver.stdout(), 60, "a body that is no event is reported")
    second = run("pollerctl", "listen", "--print", "--port", str(port), env=env)
    assert second.returncode == 1 and "errno" not in second.stderr, second.stderr
    assert f"port {port} on 127.0.0.1 is in use by another program" in second.stderr
    assert "Choose another port" in second.stderr


@pytest.mark.parametrize(
    "arguments", [["--print", "--forward-to", "http://127.0.0.1:1/"], ["--port", "1"], ["--print", "--since", "1h"]]
)
def test_a_printing_receiver_rejects_options_of_a_forwarder(arguments: list[str]):
    done = run("pollerctl", "listen", *arguments)
    assert done.returncode == 64 and "--print" in done.stderr


@pytest.fixture
def sink():
    sink = WebhookSink(SECRET)
    yield sink
    sink.close()


def recorded(cluster: Cluster, sources: list[str]) -> dict[str, list[str]]:
    return {source: [event["id"] for event in cluster.api.events(source)] for source in sources}


def check_nothing_lost(cluster: Cluster, sink: WebhookSink, sources: list[str]) -> int:
    """Waits for every recorded event, checks order and signatures, and returns the number of repeats."""
    wanted = {event for events in recorded(cluster, sources).values() for event in events}
    wait_until(
        lambda: wanted <= sink.receipts.ids(), 60, f"{len(wanted)} events forwarded", pause_s=0.2
    )
    assert not sink.receipts.problems
    came = [receipt.event for receipt in sink.receipts.all()]
    first = list(dict.fromkeys(came))
    for source, events in recorded(cluster, sources).items():
        assert [event for event in first if event in events] == events, source
    return len(came) - len(first)


def test_no_event_is_lost_when_listener_receiver_and_server_fail(
    chaos, sink: WebhookSink, tmp_path: Path
):
    dice = random.Random(20261123)
    cluster = chaos(listen=False, env={"POLLER_API_BIND": f"127.0.0.1:{free_port()}"})
    sources = cluster.sandbox.create_sources(60)
    listener = Listener(cluster, tmp_path, "--forward-to", sink.url).start().wait_ready()
    over = threading.Event()

    def shop() -> None:
        """Simulates customers who arrive and pay continuously."""
        try:
            for source in sources:
                wait_until(lambda: is_enqueued(source), 60, "the server is available again")
                time.sleep(0.05)
                cluster.sandbox.set_status(source, "chargeable")
        finally:
            over.set()

    def is_enqueued(source: str) -> bool:
        try:
            return cluster.enqueue(source, notify=[]) is not None
        except requests.RequestException:
            return False  # The test has killed the server.

    threading.Thread(target=shop, daemon=True).start()
    kills = 0
    while not over.is_set() or kills < 8:
        time.sleep(dice.uniform(0.1, 0.8))
        if dice.random() < 0.4:
            sink.refuse(dice.randint(1, 3))
        if kills == 4:
            cluster.api_process.kill9()
            cluster.api_process.start().wait_ready()
        listener.kill9()
        kills += 1
        listener.start()
    for source in sources:
        cluster.wait_status(source, "chargeable")
    repeats = check_nothing_lost(cluster, sink, sources)
    # Only the event in progress at each kill may be repeated.
    assert repeats <= kills
    assert listener.running


def test_a_rejected_event_is_resent_in_order_and_the_reason_is_printed(
    chaos, sink: WebhookSink, tmp_path: Path
):
    cluster = chaos(listen=False)
    listener = Listener(cluster, tmp_path, "--forward-to", sink.url).start().wait_ready()
    sink.refuse(3)
    sources = cluster.sandbox.create_sources(3)
    for source in sources:
        cluster.enqueue(source, notify=[], order=f"order-{source[-4:]}")
        cluster.set_status(source, "chargeable")
    assert check_nothing_lost(cluster, sink, sources) == 0
    first = sink.attempts[0]
    assert sink.attempts[:4] == [first] * 4
    said = listener.stderr()
    assert said.count(f"{sink.url} returned 503; {first}") == 1, said
    assert f"{first} accepted on attempt 4" in said
    # One line per event: time, type, source, order, amount, state, status and duration.
    wanted = sum(len(events) for events in recorded(cluster, sources).values())
    # Orders have separate events.
    wait_until(lambda: sum(map(sources.count, listener.told())) == wanted, 60, "a line an event")
    cells = [line.split("\t") for line in listener.stdout().splitlines()]
    cells = next(line for line in reversed(cells) if line[2] in sources)
    assert cells[3] == f"order-{cells[2][-4:]}"
    assert "eur" in cells[4] and cells[6] == "200" and cells[7].endswith(" ms")


def test_a_first_start_begins_now_and_the_next_resumes(
    chaos, sink: WebhookSink, tmp_path: Path
):
    cluster = chaos(listen=False)
    before, after = cluster.sandbox.create_sources(2)
    cluster.follow(before, notify=[])
    listener = Listener(
        cluster, tmp_path, "--forward-to", sink.url, "--types", "source.*", "--json", secret=None
    )
    listener.start().wait_ready()
    # A separate secret, created once, which other users cannot read.
    kept = tmp_path / "poller/listen-secret"
    assert kept.stat().st_mode & 0o077 == 0
    secret = kept.read_text().strip()
    assert secret in listener.stderr()
    printed = run("pollerctl", "listen", "--print-secret", env={"XDG_STATE_HOME": str(tmp_path)})
    assert printed.stdout.strip() == secret
    sink._webhook = Webhook(secret)
    assert "from now" in listener.stderr()
    # A second listener with the same target would forward every event twice.
    twin = run("pollerctl", *listener.command[1:], env=listener.env)
    assert twin.returncode == 1 and "another pollerctl listen" in twin.stderr
    listener.terminate()

    cluster.enqueue(after, notify=[])
    cluster.set_status(after, "chargeable")
    missed = [event for event in cluster.api.events(after) if event["type"].startswith("source.")]
    listener.start().wait_ready()
    wait_until(lambda: len(sink.receipts.ids()) == len(missed), 60, "missed events are forwarded")
    assert f"backlog of {len(missed)} event" in listener.stderr()
    # A line is printed after the answer of the receiver.
    wait_until(lambda: listener.stdout().count("\n") == len(missed), 60, "each is printed")
    lines = [json.loads(line) for line in listener.stdout().splitlines()]
    assert [line["event"]["id"] for line in lines] == [event["id"] for event in missed]
    assert all(line["status"] == 200 and line["attempts"] == 1 for line in lines)
    assert not sink.receipts.problems

    # Resends one event with the same ID.
    again = missed[0]["id"]
    env = {"POLLER_URL": cluster.api.url, "XDG_STATE_HOME": str(tmp_path)}
    done = run("pollerctl", "events", "resend", again, "--forward-to", sink.url, env=env)
    assert done.returncode == 0, done.stderr
    assert sink.attempts[-1] == again and not sink.receipts.problems
    done = run("pollerctl", "events", "resend", "evt_none", "--forward-to", sink.url, env=env)
    assert done.returncode == 1 and "not found" in done.stderr


def test_a_server_with_another_store_is_read_from_its_oldest_event(
    chaos, sink: WebhookSink, tmp_path: Path
):
    port = free_port()
    first = chaos(listen=False, env={"POLLER_API_BIND": f"127.0.0.1:{port}"})
    listener = Listener(first, tmp_path, "--forward-to", sink.url).start().wait_ready()
    first.api_process.kill9()
    wait_until(lambda: "no answer from" in listener.stderr(), 60, "the outage is printed")
    second = chaos(listen=False, env={"POLLER_API_BIND": f"127.0.0.1:{port}"})
    source = second.follow_new(notify=[])
    check_nothing_lost(second, sink, [source])
    assert "is available again; events continue" in listener.stderr()


def test_tail_prints_events_of_all_sources_as_they_come(calm: Cluster, tmp_path: Path):
    env = {"POLLER_URL": calm.api.url}
    tail = Process("tail", [program("pollerctl"), "events", "tail", "--json"], tmp_path, env)
    try:
        tail.start()

        def shows_new_events() -> bool:
            probe = calm.follow_new(notify=[])
            return bool(tail.stdout())

        # It shows only events recorded after its start.
        wait_until(shows_new_events, 60, "tail has started", pause_s=0.5)
        source = calm.follow_new(notify=[])
        wanted = [event["id"] for event in calm.api.events(source)]

        def shown() -> list[str]:
            events = [json.loads(line) for line in tail.stdout().splitlines()]
            return [event["id"] for event in events if event["source"] == source]

        wait_until(lambda: shown() == wanted, 60, "tail shows recorded events")
    finally:
        tail.end()
    wrong = run("pollerctl", "events", "tail", "--types", "source.chargable", env=env)
    assert wrong.returncode == 64 and "did you mean source.chargeable?" in wrong.stderr
    listed = run("pollerctl", "events", source, "--json", env=env)
    assert [json.loads(line)["id"] for line in listed.stdout.splitlines()][: len(wanted)] == wanted


def test_invalid_options_of_listen_are_rejected():
    for arguments, said in [
        (("listen",), "--forward-to must name a URL"),
        (("listen", "--forward-to", "localhost:3000"), "--forward-to must be a URL"),
        (("listen", "--forward-to", "http://h/", "--secret", "x"), "--secret must be whsec_"),
        (("listen", "--forward-to", "http://h/", "--since", "soon"), "--since must be"),
    ]:
        done = run("pollerctl", *arguments)
        assert done.returncode == 64 and said in done.stderr, done.stderr
