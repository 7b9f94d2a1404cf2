"""Tests webhooks and the event sweep as hints: each causes one early poll, and its content is not trusted."""

import json
import socket
import time
from urllib.parse import urlsplit

import pytest
import requests
from harness.cluster import Cluster
from harness.shop import with_webhooks
from harness.signed_webhook import signed_webhook
from harness.waiting import wait_until
from test_poison_entries import a_while_passes

# A patient watch is polled at once and then after half a minute. An earlier change is known from a hint.
HINTED_S = 20


@pytest.fixture(scope="module")
def posted():
    """Starts a cluster without a sweep, whose second API receives the sandbox's webhooks."""
    env = {"POLLER_STRIPE_SWEEP": "off", "POLLER_STRIPE_ENQUEUE_UNKNOWN": "true"}
    with Cluster(workers=1, listen=False, env=env) as cluster:
        yield with_webhooks(cluster)


def waiting(cluster: Cluster, count: int = 1) -> list[str]:
    """Returns sources that have been polled once and are not due for half a minute."""
    sources = [cluster.sandbox.create_source() for _ in range(count)]
    for source in sources:
        cluster.enqueue(source, policy="patient", notify=[])
    for source in sources:
        cluster.wait_status(source, "pending")
    return sources


# The events of a payment from beginning to end.
WHOLE = ["source.pending", "payment.authorised", "source.chargeable", "payment.paid", "source.consumed"]


def types(cluster: Cluster, source: str) -> list[str]:
    events = cluster.api.events(source)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    return [event["type"] for event in events]


def metric(role, name: str, **labels: str) -> float:
    """Returns the sum of a metric over the series with these labels."""
    total = 0.0
    for line in role.admin("/metrics").text.splitlines():
        head, _, value = line.rpartition(" ")
        if head.partition("{")[0] == name and all(f'{k}="{v}"' in head for k, v in labels.items()):
            total += float(value)
    return total


def outcome(cluster: Cluster, name: str) -> float:
    return metric(cluster.taker, "poller_stripe_webhooks_total", outcome=name)


def faults(cluster: Cluster, mode: str, **plan) -> str:
    return cluster.sandbox._call("POST", "/_sandbox/webhooks/faults", json={"mode": mode} | plan)["id"]


def post(cluster: Cluster, event: dict, secret: str | None = None, path: str = "") -> requests.Response:
    """Posts an event as Stripe would, signed over its raw bytes."""
    body = json.dumps(event).encode()
    headers = signed_webhook(body, secret or cluster.secret)
    return requests.post(cluster.hook + path, data=body, headers=headers, timeout=30)


def event(source: str, type: str = "source.chargeable", id: str = "evt_1", **more) -> dict:
    data = {"object": {"id": source, "object": "source", "status": "chargeable"}}
    return {"id": id, "object": "event", "type": type, "created": 1, "livemode": False, "data": data} | more


def test_a_webhook_causes_a_poll_long_before_the_next_scheduled_one(posted: Cluster):
    (source,) = waiting(posted)
    posted.sandbox.authorise(source)
    posted.wait_status(source, "chargeable", timeout_s=HINTED_S)
    assert outcome(posted, "accepted") >= 1
    # A charge produces a charge event and no source event.
    posted.sandbox.charge(source)
    posted.wait_status(source, "consumed", timeout_s=HINTED_S)
    assert types(posted, source) == WHOLE


def test_duplicate_webhooks_record_each_change_once(posted: Cluster):
    def taken() -> float:
        return outcome(posted, "accepted") + outcome(posted, "duplicate")

    before = taken()
    # Stripe may send the same event again, or two events about one change.
    faults(posted, "duplicate", match="source.chargeable", times=2)
    faults(posted, "twin", match="charge.succeeded", times=2)
    sources = waiting(posted, 2)
    for source in sources:
        posted.sandbox.authorise(source)
        posted.wait_status(source, "chargeable", timeout_s=HINTED_S)
        posted.sandbox.charge(source)
        posted.wait_status(source, "consumed", timeout_s=HINTED_S)
        assert types(posted, source) == WHOLE
    # Two hints at the same instant may cause two polls, and nothing else.
    wait_until(lambda: taken() >= before + 8, 60, "every webhook is accepted")


def test_webhooks_in_the_wrong_order_do_not_change_known_facts(posted: Cluster):
    held = faults(posted, "hold")
    sources = waiting(posted, 2)
    for source in sources:
        posted.sandbox.authorise(source)
        posted.sandbox.charge(source)
    posted.sandbox._call("DELETE", f"/_sandbox/webhooks/faults/{held}")
    for source in sources:
        posted.wait_status(source, "consumed", timeout_s=HINTED_S)
        # The newest event arrived first and triggered the poll. The late source.chargeable adds no event.
        assert types(posted, source) == ["source.pending", "payment.paid", "source.consumed"]


def test_an_unwatched_source_is_watched_from_its_webhook_on(posted: Cluster):
    source = posted.sandbox.create_source()
    assert posted.api.request("GET", f"/v1/watches/{source}").status_code == 404
    posted.sandbox.authorise(source)
    wait_until(
        lambda: posted.api.request("GET", f"/v1/watches/{source}").status_code == 200, 60, "it is watched"
    )
    posted.wait_status(source, "chargeable")
    # A watch that was cancelled stays closed, even if more webhooks arrive.
    posted.api.request("DELETE", f"/v1/watches/{source}")
    posted.sandbox.charge(source)
    wait_until(lambda: outcome(posted, "accepted") >= 2, 60, "the charge is reported")
    assert posted.api.watch(source)["state"] == "closed"


def test_changes_after_the_final_status_are_reported(posted: Cluster):
    source = posted.enqueue_new(timeout="1s", metadata={"order": "6"}, notify=[])
    expired = wait_until(
        lambda: (found := posted.api.watch(source))["state"] == "closed" and found, 60, "it expires"
    )
    assert expired["closed_reason"] == "expired"
    posted.authorise(source)
    events = posted.api.events(source)
    assert [(event["seq"], event["run"], event["type"]) for event in events[:4]] == [
        (1, 1, "source.pending"), (2, 1, "watch.expired"),
        (3, 2, "payment.authorised"), (4, 2, "source.chargeable"),
    ]
    assert [event["previous_status"] for event in events[2:4]] == ["pending", "pending"]
    assert posted.api.watch(source)["metadata"] == {"order": "6"}


def test_a_hint_without_a_change_polls_and_records_nothing(posted: Cluster):
    source = posted.enqueue_new(timeout="1s", notify=[])
    wait_until(lambda: posted.api.watch(source)["state"] == "closed", 60, "it expires")
    before = len(posted.sandbox.polls(source))
    answer = posted.api.request("POST", f"/v1/watches/{source}/poll")
    assert answer.status_code == 202 and answer.json()["run"] == 2, answer.text
    # The new run lasts a minute.
    wait_until(lambda: len(posted.sandbox.polls(source)) > before + 2, 60, "the source is polled again")
    assert [event["type"] for event in posted.api.events(source)] == ["source.pending", "watch.expired"]


def test_the_content_of_a_webhook_is_never_trusted(posted: Cluster):
    (source,) = waiting(posted)
    due = posted.api.watch(source)["next_poll_at"]
    # A forged event and one of another mode cause no poll.
    assert post(posted, event(source), secret="whsec_wrong").status_code == 400
    live = post(posted, event(source, livemode=True))
    assert live.status_code == 200 and live.json()["result"] == "ignored"
    unknown = post(posted, event(source), path="/acct_nobody")
    assert unknown.status_code == 404 and "STRIPE_WEBHOOK_SECRET" in unknown.json()["detail"]
    assert posted.api.watch(source)["next_poll_at"] == due
    # A signed event with false content causes a poll, and the poll finds the true status.
    lie = post(posted, event(source, id="evt_lie"))
    assert lie.json() == {"result": "accepted", "hinted": 1, "enqueued": 0}
    wait_until(lambda: len(posted.sandbox.polls(source)) >= 2, HINTED_S, "looked at")
    assert types(posted, source) == ["source.pending"]
    assert post(posted, event(source, id="evt_lie")).json() == {"result": "duplicate"}


def test_a_body_that_is_not_an_event_is_rejected(posted: Cluster):
    assert post(posted, {"object": "event"}).status_code == 400
    # A request that announces more than the size limit is refused before its body is read.
    url = urlsplit(posted.hook)
    head = f"POST {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nStripe-Signature: t=1,v1=0\r\nContent-Length: 5000000\r\n\r\n"
    with socket.create_connection((url.hostname, url.port), timeout=20) as client:
        client.sendall(head.encode())
        assert b" 413 " in client.recv(65536).splitlines()[0]


@pytest.fixture(scope="module")
def swept():
    """Starts a cluster that sweeps every second and expects webhooks that never arrive."""
    env = {"POLLER_STRIPE_SWEEP": "1s", "STRIPE_WEBHOOK_SECRET": "whsec_never"}
    with Cluster(workers=1, notifiers=0, listen=False, env=env) as cluster:
        # The sweep of an account without events starts with its first read.
        wait_until(lambda: swept_cursor(cluster), 60, "the first sweep")
        (source,) = waiting(cluster)
        cluster.authorise(source)
        yield cluster


def test_the_sweep_reports_every_object_of_the_account(swept: Cluster):
    sources = waiting(swept, 8)
    begun = time.monotonic()
    for source in sources:
        swept.sandbox.authorise(source)
    for source in sources:
        swept.wait_status(source, "chargeable")
    assert time.monotonic() - begun < HINTED_S
    # Events are counted after their hints.
    wait_until(
        lambda: metric(swept.workers[0], "poller_sweep_events_total", account="default") >= 8, 60, "they are counted"
    )
    asked = swept.sandbox._call("GET", "/_sandbox/requests?path=/v1/events")["data"]
    assert all(request["status"] == 200 for request in asked)


def test_a_healthy_sweep_slows_polls_unless_a_customer_waits(swept: Cluster):
    def pause(policy: str) -> float:
        """Returns the seconds from the first poll, which found it pending, to the next."""
        source = swept.enqueue_new(policy=policy, notify=[])
        watch = swept.wait_status(source, "pending")
        # The store has computed both times, so the test does not have to wait.
        seconds = [watch[name][-13:-1].split(":") for name in ("last_polled_at", "next_poll_at")]
        last, following = (int(h) * 3600 + int(m) * 60 + float(s) for h, m, s in seconds)
        return (following - last) % 86_400

    # The first interval of 1.5 s becomes eight times longer. While a customer waits it stays at one second. On a busy
    # machine a sweep may be late, and does not count as healthy then.
    wait_until(lambda: 8 * 1.5 * 0.9 - 0.1 <= pause("standard") <= 8 * 1.5 * 1.1 + 1, 60, "a long pause", pause_s=1)
    wait_until(lambda: pause("interactive") <= 4, 60, "a short pause", pause_s=1)


def swept_cursor(cluster: Cluster) -> str | None:
    with cluster.redis.client() as client:
        return client.hget("poller:sweep{default}", "c")


def test_missed_webhooks_and_reads_are_counted(swept: Cluster):
    (worker,) = swept.workers
    before = metric(worker, "poller_webhook_missed_total")
    unseen = "poller:unseen{default}"
    with swept.redis.client() as client:
        found = wait_until(lambda: client.zrange(unseen, 0, -1), 60, "events without a webhook")
        # A webhook counts as missed after five minutes. The test shifts the recorded times.
        for id in found:
            client.zincrby(unseen, -301_000, id)
    wait_until(
        lambda: metric(worker, "poller_webhook_missed_total") >= before + len(found), 60,
        "the missed are counted",
    )
    reads = wait_until(
        lambda: metric(worker, "poller_reads_30d", account="default"), 60, "the reads are counted"
    )
    sweeps = len(swept.sandbox._call("GET", "/_sandbox/requests?path=/v1/events")["data"])
    assert reads >= 1 and sweeps >= 1
    assert metric(worker, "poller_read_budget_30d", account="default") == 10_000
    wait_until(lambda: metric(worker, "poller_read_stretch", account="default") == 8, 60, "the polls are slowed")


def test_after_a_downtime_the_sweep_resumes_at_its_cursor(swept: Cluster):
    (worker,) = swept.workers
    sources = waiting(swept, 5)
    worker.kill9()
    for source in sources:
        swept.sandbox.authorise(source)
    cursor = swept_cursor(swept)
    # Otherwise a sweep that died halfway would block the next one for a minute.
    a_while_passes(swept)
    worker.start().wait_ready()
    begun = time.monotonic()
    for source in sources:
        swept.wait_status(source, "chargeable")
    assert time.monotonic() - begun < HINTED_S
    assert cursor.startswith("=evt_")
    # It is stored after the hints of its events.
    wait_until(lambda: swept_cursor(swept) != cursor, 60, "the cursor advances")
