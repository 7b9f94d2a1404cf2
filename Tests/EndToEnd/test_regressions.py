"""Tests failures that other projects have reported, each found by its number.

|  # | failure in another project                                 | our test |
|----|------------------------------------------------------------|----------|
|  1 | Redis restarted, `NOGROUP` forever (svix#1844)             | here |
|  2 | a worker exits after ten Redis errors (outpost)            | here |
|  3 | a response read without deadline or size limit (svix)      | WebhookChannelTests |
|  4 | a lease shorter than the request's timeout (svix)          | test_delivery_outcomes |
|  5 | a redirect followed with the signed body (convoy, outpost) | WebhookChannelTests |
|  6 | only the body is signed: replayable (outpost)              | WebhookChannelTests |
|  7 | JSON serialised again after signing (soketi)               | WebhookChannelTests |
|  8 | no answer to an unknown Last-Event-ID (mercure#704)        | EventStreamTests; test_sse |
|  9 | a private ID leaked in a cursor (mercure#1215)             | GatewayCursorTests; here |
| 10 | SSE fields injected by a newline (mercure#1259)            | EventStreamPartsTests |
| 11 | JWT algorithm confusion (mercure#1298)                     | StreamTokensTests; test_stream_tokens |
| 12 | keys of two tenants collide (outpost#967)                  | EndpointDeliveryTests |
| 13 | `Retry-After` ignored (svix before 1.87)                   | DeliveryDeciderTests; test_delivery_outcomes |
| 14 | slow SMTP blocks everything (gatus#786)                    | here |
| 15 | a notification lost on the first error (uptime-kuma#6046)  | test_delivery_outcomes |
| 16 | two creates race under one idempotency key (convoy#2747)   | test_endpoints |
| 17 | secrets in the API or in logs (convoy#2706)                | test_endpoints |
| 18 | the same email sent twice by two workers (novu#2569)       | here |
| 19 | all clients reconnect at once on a restart (soketi)        | here |
| 20 | Chromium never reconnects after 204, 429 or 503 (measured) | EventStreamEndsTests; here |
"""

import asyncio
import base64
import contextlib
import json
import re
import socket
import statistics
import threading
import time
from datetime import datetime
from pathlib import Path

import pytest
import redis.exceptions
import websockets
from harness.browser import Browser, chromium
from harness.cluster import Cluster
from harness.redis_server import free_port
from harness.stream_client import EventStream
from harness.waiting import wait_until


def test_every_regression_has_a_test_with_its_number():
    tests = Path(__file__).parents[1]
    found = set()
    for file in (*tests.rglob("*.swift"), *tests.rglob("test_*.py")):
        for numbers in re.findall(r"egressions?[ _](\d+(?: and \d+)?)", file.read_text()):
            found |= {int(number) for number in numbers.split(" and ")}
    assert found >= set(range(1, 21)), sorted(set(range(1, 21)) - found)


def roles(cluster: Cluster) -> list:
    return [*cluster.apis, *cluster.workers, *cluster.notifiers]


def all_alive(cluster: Cluster) -> None:
    ended = [role.name for role in roles(cluster) if not role.running or role.starts != 1]
    assert not ended, f"ended because Redis did: {ended}"


def connected(cluster: Cluster) -> None:
    """Waits until the API answers again. While it reconnects to Redis, it may answer 503."""
    wait_until(lambda: cluster.api.request("GET", "/v1/stats").ok, 60, "the API is connected to Redis again")


def accepted(cluster: Cluster, source: str) -> None:
    """Enqueues as a shop does: repeats the request until it succeeds."""

    def tried() -> bool:
        answer = cluster.api.enqueue(source, policy="interactive", notify=[cluster.webhook.url])
        assert answer.status_code in (200, 201, 503), answer.text
        return answer.ok

    wait_until(tried, 60, f"{source} accepted", pause_s=0.1)


def test_regression_1_processes_continue_after_redis_lost_all_data(chaos):
    """Regression 1 (svix#1844): Redis restarted without its consumer group, and `NOGROUP` forever."""
    cluster: Cluster = chaos(listen=False, fsync="always")
    sources = cluster.sandbox.create_sources(40)
    for source in sources:
        accepted(cluster, source)
    for source in sources:
        cluster.wait_status(source, "pending")

    def without_group() -> list[str]:
        found = []
        with cluster.redis.client() as client:
            for key in client.scan_iter("poller:e{*", count=1000):
                if not any(g["name"] == "notifier" for g in client.xinfo_groups(key)):
                    found.append(key)
        return found

    with cluster.redis.client() as client:
        client.flushall()
    # All sources are enqueued again at once, on streams that have no group yet.
    for source in sources:
        accepted(cluster, source)
    wait_until(lambda: not without_group(), 60, "every recreated stream has its group")
    cluster.redis.kill9()
    cluster.redis.start()
    connected(cluster)
    for source in sources:
        cluster.sandbox.set_status(source, "consumed")
    for source in sources:
        cluster.wait_status(source, "consumed")
    cluster.wait_delivered(sources, mail=False)
    all_alive(cluster)


def test_regression_2_no_process_exits_after_repeated_redis_errors(chaos):
    """Regression 2 (outpost): a worker exits after ten consecutive Redis errors, in about 55 s.

    The test compresses the minutes. The server freezes for as long as a command waits, and then every connection
    gets eleven consecutive errors, one more than the worker survived there.
    """
    cluster: Cluster = chaos(listen=False)
    sources = cluster.sandbox.create_sources(10)
    for source in sources:
        accepted(cluster, source)
    for source in sources:
        cluster.wait_status(source, "pending")
    cluster.redis.freeze()
    wait_until(
        lambda: all(role.admin("/readyz").status_code == 503 for role in roles(cluster)), 60,
        "every process has noticed",
    )
    for source in sources:
        cluster.sandbox.set_status(source, "consumed")
    cluster.redis.thaw()
    for _ in range(11):
        with contextlib.suppress(redis.exceptions.ConnectionError), cluster.redis.client() as client:
            client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")
        with cluster.redis.client() as client:
            # Wait until the processes have reconnected before the next kill.
            wait_until(
                lambda: len(client.client_list(_type="normal")) > len(roles(cluster)) / 2, 60,
                "the processes recover",
            )
    all_alive(cluster)
    connected(cluster)
    for source in sources:
        cluster.wait_status(source, "consumed")
    cluster.wait_delivered(sources, mail=False)
    wait_until(
        lambda: all(role.admin("/readyz").status_code == 200 for role in roles(cluster)), 60,
        "all ready",
    )


def test_regression_9_a_cursor_reveals_nothing_of_other_accounts(calm: Cluster):
    """Regression 9 (mercure#1215): the ID of a private event leaked in a header."""
    mine, *others = calm.sandbox.create_sources(6)
    for source in (mine, *others):
        calm.follow(source, notify=[], metadata={"secret": f"meta-{source}"})
    foreign = {event["id"] for source in others for event in calm.api.events(source)} | set(others)
    with EventStream(calm.gateway(), f"/v1/sources/{mine}/events?after_seq=0") as stream:
        first = stream.until("ready")
        for source in (*others, mine):
            calm.sandbox.set_status(source, "failed")
        for source in others:
            calm.wait_status(source, "failed")
        told = first + stream.until("done")
    foreign |= {event["id"] for source in others for event in calm.api.events(source)}
    shown = json.dumps(told) + str(dict(stream.response.headers))
    for message in told:
        text = message["id"] or ""
        shown += base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("latin-1")
    assert not [name for name in foreign if name in shown]


class TarPit:
    """A mail server that accepts connections and never answers."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._open: list[socket.socket] = []
        self.url = f"smtp://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._open.append(self._listener.accept()[0])

    @property
    def taken(self) -> int:
        return len(self._open)

    def close(self) -> None:
        self._listener.close()
        for held in self._open:
            held.close()


def test_regression_14_a_silent_mail_relay_does_not_delay_webhooks(chaos):
    """Regression 14 (gatus#786): slow SMTP blocks the checks."""
    pit = TarPit()
    cluster: Cluster = chaos(listen=False, workers=1, env={"POLLER_SMTP_URL": pit.url})
    # More email deliveries than a notifier's slots.
    mailed = cluster.sandbox.create_sources(300)
    for number, source in enumerate(mailed):
        answer = cluster.api.enqueue(
            source, policy="interactive", notify=[f"mailto:customer{number}@example.com"]
        )
        assert answer.ok, answer.text
    for source in mailed:
        cluster.sandbox.set_status(source, "failed")
    # All changes are recorded, so only the relay can delay the following deliveries.
    for source in mailed:
        cluster.wait_status(source, "failed")
    wait_until(lambda: pit.taken >= 8, 60, "the relay blocks every thread")
    hooked = cluster.sandbox.create_sources(40)
    for source in hooked:
        cluster.follow(source, notify=[cluster.webhook.url])
    for source in hooked:
        cluster.sandbox.set_status(source, "failed")
    for source in hooked:
        cluster.wait_status(source, "failed")
    cluster.wait_delivered(hooked, mail=False)
    recorded = {e["id"]: e for source in hooked for e in cluster.api.events(source)}
    lags, waits = [], []
    for receipt in cluster.webhook.receipts.among(hooked).all():
        event = recorded[receipt.event]
        polled = datetime.fromisoformat(event["observed"]["polled_at"])
        waits.append(receipt.arrived_ms - polled.timestamp() * 1000)
        lags.append(event["observed"]["lag_ms"])
    # A mail waits for a place at the relay for 15 s, and holds it for 30 s.
    assert statistics.quantiles(waits, n=20)[-1] < 14_000, sorted(waits)[-5:]
    assert statistics.quantiles(lags, n=20)[-1] < 14_000, sorted(lags)[-5:]
    pit.close()


def test_regression_18_two_notifiers_send_one_mail(chaos):
    """Regression 18 (novu#2569): two workers send the same email."""
    cluster: Cluster = chaos(listen=False, notifiers=2)
    sources: list[str] = []

    def both_work() -> bool:
        for source in cluster.sandbox.create_sources(25):
            sources.append(source)
            # Each customer is a separate endpoint, so the two notifiers share the work.
            cluster.enqueue(source, notify=[f"mailto:customer{len(sources)}@example.com"])
            cluster.sandbox.set_status(source, "failed")
        wait_until(lambda: len(cluster.mail.messages) >= len(sources), 60, f"{len(sources)} mails")
        return all(role.metric("poller_deliveries_total") > 0 for role in cluster.notifiers)

    # On a busy machine one notifier may do all the work for a while.
    wait_until(both_work, 120, "both notifiers work", pause_s=0)
    ids = [mail["Message-ID"] for mail in cluster.mail.messages]
    assert len(ids) == len(set(ids)) == len(sources)
    # The emails of one payment form one thread.
    assert len({mail["References"] for mail in cluster.mail.messages}) == len(sources)


CLIENTS = 200


class Crowd:
    """Many WebSocket clients on one thread, each of which reconnects at its last cursor."""

    def __init__(self, gateways: list[str]):
        self.told: list[list[str]] = [[] for _ in range(CLIENTS)]
        self.byes: list[tuple[float, dict]] = []
        # The times at which the clients were told to reconnect, and the clients that have done so.
        self.due: list[float] = []
        self.returned: set[int] = set()
        self.listening: set[int] = set()
        self._urls = [url.replace("http://", "ws://") + "/v1/stream" for url in gateways]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._tasks = [self._loop.create_task(self._client(n)) for n in range(CLIENTS)]
        with contextlib.suppress(asyncio.CancelledError):
            self._loop.run_until_complete(asyncio.gather(*self._tasks))

    async def _client(self, number: int) -> None:
        cursor, url = "now", self._urls[0]
        while True:
            wait = 0.2
            try:
                async with websockets.connect(
                    url, subprotocols=["poller.v1.json"], proxy=None, open_timeout=30
                ) as connection:
                    if cursor != "now":
                        self.returned.add(number)
                    await connection.send(json.dumps({"op": "subscribe", "ref": 1, "from": cursor}))
                    async for text in connection:
                        frame = json.loads(text)
                        cursor = frame.get("cursor", cursor)
                        match frame["op"]:
                            case "caught_up": self.listening.add(number)
                            case "event": self.told[number].append(frame["event"]["id"])
                            case "bye":
                                self.byes.append((time.monotonic(), frame))
                                least, most = frame["retry_ms"]
                                wait = (least + (most - least) * number / CLIENTS) / 1000
                                self.due.append(time.monotonic() + wait)
            except (OSError, websockets.WebSocketException, TimeoutError):
                pass
            # Reconnect to the next gateway, as behind a load balancer.
            url = self._urls[(self._urls.index(url) + 1) % len(self._urls)]
            await asyncio.sleep(wait)

    def close(self) -> None:
        for task in self._tasks:
            self._loop.call_soon_threadsafe(task.cancel)
        self._thread.join(10)


def test_regression_19_clients_of_a_restarted_gateway_reconnect_at_spread_times(chaos):
    """Regression 19 (soketi): all clients reconnect at once on a restart."""
    cluster: Cluster = chaos(listen=False, notifiers=2, workers=1, env={"POLLER_DRAIN_TIMEOUT": "10s"})
    crowd = Crowd([notifier.address("gateway") for notifier in cluster.notifiers])
    try:
        wait_until(lambda: len(crowd.listening) == CLIENTS, 60, "every client is connected")
        first, sources = cluster.notifiers[0], cluster.sandbox.create_sources(6)
        first.signal(15)
        # Events happen while the clients reconnect.
        for source in sources:
            cluster.follow(source, notify=[])
            cluster.set_status(source, "failed")
        wait_until(lambda: len(crowd.returned) == CLIENTS, 60, "every client has reconnected")
        recorded = {event["id"] for source in sources for event in cluster.api.events(source)}
        wait_until(lambda: all(set(told) == recorded for told in crowd.told), 60, "a client lost an event")
    finally:
        crowd.close()
    assert all(len(told) == len(recorded) for told in crowd.told), "a client received an event twice"
    assert len(crowd.byes) == CLIENTS and all(bye["code"] == 4101 for _, bye in crowd.byes)
    said = sorted(at for at, _ in crowd.byes)
    # The drain timeout of 10 s minus twice 3 s for closing leaves 4 s in which the `bye` frames are spread. This
    # process may be late to read the first of them.
    assert said[-1] - said[0] >= 2, f"close frames within {said[-1] - said[0]:.1f} s"
    due = sorted(crowd.due)
    assert due[-1] - due[0] >= 7, f"all clients were told to reconnect within {due[-1] - due[0]:.1f} s"
    crowded = max(sum(1 for other in due if at <= other < at + 1) for at in due)
    assert crowded <= CLIENTS / 3, f"{crowded} of {CLIENTS} were told to reconnect in the same second"


@pytest.mark.skipif(not chromium(), reason="no chromium on this machine")
def test_regression_20_a_browser_reconnects_automatically_and_stops_at_the_end(chaos):
    """Regression 20 (measured): Chromium's EventSource never reconnects after 204, 429 or 503.

    A gateway that is stopping or has just started therefore never answers with them while more events may follow.
    A 204 ends the stream.
    """
    bind = f"127.0.0.1:{free_port()}"
    env = {"POLLER_API_BIND": bind, "POLLER_ALLOW_ORIGINS": f"http://{bind}"}
    cluster: Cluster = chaos(listen=False, workers=1, env=env)
    source = cluster.follow_new(notify=[])
    browser = Browser()
    try:
        # Any page of an allowed origin.
        browser.open(f"http://{bind}/openapi.json")
        wait_until(lambda: browser.evaluate("location.host") == bind, 60, "the page")
        browser.evaluate(f"""
            window.told = [];
            window.stream = new EventSource("{cluster.gateway()}/v1/sources/{source}/events?after_seq=0");
            stream.onmessage = (message) => told.push(JSON.parse(message.data).type);
        """)

        def told() -> list[str]:
            return browser.evaluate("told")

        first = ["source.pending"]
        wait_until(lambda: told() == first, 60, "it listens")
        gateway = cluster.notifiers[0]
        gateway.terminate()
        cluster.set_status(source, "chargeable")
        gateway.start().wait_ready()
        # The retry delay that the stream sent is at most eight seconds.
        second = [*first, "payment.authorised", "source.chargeable"]
        wait_until(lambda: told() == second, 60, "the browser reconnected automatically")
        cluster.sandbox.set_status(source, "consumed")
        third = [*second, "payment.paid", "source.consumed"]
        wait_until(lambda: told() == third, 60, "to the end")
        wait_until(lambda: browser.evaluate("stream.readyState") == 2, 60, "it asks no more")
    finally:
        browser.close()
