"""Tests that sources settle through real processes and every channel delivers each change once and in order."""

import json
import os
import subprocess

from harness.cluster import Cluster, program
from harness.commands import pollerctl
from harness.history_checker import is_beside
from harness.waiting import wait_until


def settle(calm: Cluster, source: str) -> None:
    """Plays a payment slowly enough for each status to be observed."""
    calm.wait_status(source, "pending")
    calm.authorise(source)
    calm.charge(source)


def ctl(cluster: Cluster, *arguments: str, **options) -> subprocess.CompletedProcess:
    return pollerctl(cluster, *arguments, status=None, **options)


def test_a_source_settles_and_every_channel_delivers_each_change_once_in_order(calm: Cluster):
    source = calm.enqueue_new()
    settle(calm, source)

    events = calm.api.events(source)
    assert [event["type"] for event in events] == [
        "source.pending",
        "payment.authorised",
        "source.chargeable",
        "payment.paid",
        "source.consumed",
    ]
    assert [event["seq"] for event in events] == [1, 2, 3, 4, 5]
    pending = [event["payment"]["state"] for event in events]
    assert pending == ["awaiting_customer", "authorised", "authorised", "paid", "paid"]
    assert events[0]["next_step"]["type"] == "follow_link"
    watch = calm.api.watch(source)
    assert (watch["state"], watch["closed_reason"], watch["final"]) == ("closed", "settled", True)
    calm.verify([source])


def test_a_declined_attempt_is_reported_although_the_status_stays(calm: Cluster):
    form = {"amount": 2000, "currency": "eur", "payment_method_types[]": "card"}
    intent = calm.sandbox._stripe("POST", "/v1/payment_intents", form)["id"]
    calm.enqueue(intent, policy="interactive")
    calm.wait_status(intent, "requires_payment_method")
    for method in ("pm_card_chargeDeclined", "pm_card_chargeDeclinedExpiredCard"):
        seen = len(calm.api.events(intent))
        answer = calm.sandbox._http.post(
            f"{calm.sandbox.url}/v1/payment_intents/{intent}/confirm",
            data={"payment_method": method}, auth=(calm.sandbox.KEY, ""), timeout=30,
        )
        assert answer.status_code == 402, answer.text
        wait_until(lambda: len(calm.api.events(intent)) > seen, 60, "the decline is reported")
    told = [event for event in calm.api.events(intent) if not is_beside(event)]
    assert [event["type"] for event in told] == ["payment_intent.requires_payment_method"] * 3
    words = [event["payment"] for event in calm.api.events(intent) if event["type"] == "payment.failed"]
    assert [word["reason"] for word in words] == ["declined", "expired_card"]
    assert [event["previous_status"] for event in told] == [None] + ["requires_payment_method"] * 2
    assert told[1]["object"]["last_payment_error"]["code"] == "card_declined"
    assert calm.api.watch(intent)["object"]["last_payment_error"]["code"] == "expired_card"
    calm.api.request("DELETE", f"/v1/watches/{intent}")


def test_a_payment_intent_settles_on_every_channel(calm: Cluster):
    intent = calm.sandbox.create_intent()
    calm.enqueue(intent)
    calm.wait_status(intent, "requires_action")
    calm.sandbox.authorise(intent)
    calm.wait_status(intent, "succeeded")

    assert [event["type"] for event in calm.api.events(intent)] == [
        "payment_intent.requires_action",
        "payment.paid",
        "payment_intent.succeeded",
    ]
    calm.verify([intent])


def test_a_payment_declined_by_the_customer_is_reported_as_failed(calm: Cluster):
    source = calm.follow_new()
    calm.set_status(source, "failed")
    calm.verify([source])


def test_events_of_a_hundred_simultaneous_sources_are_not_mixed_up(calm: Cluster):
    def change(status: str) -> None:
        for source in sources:
            calm.sandbox.set_status(source, status)
        # All are polled at once, which mixes their events more than waiting for the next interval.
        for source in sources:
            assert calm.api.request("POST", f"/v1/watches/{source}/poll").ok
        for source in sources:
            calm.wait_status(source, status)

    sources = calm.sandbox.create_sources(100)
    batch = [{"source": s, "policy": "interactive", "notify": calm.notify_of(s)} for s in sources]
    response = calm.api.request("POST", "/v1/watches/batch", json=batch)
    assert response.ok, response.text
    for source in sources:
        calm.wait_status(source, "pending")
    for status in ("chargeable", "consumed"):
        change(status)
    calm.verify(sources)


def test_enqueueing_an_id_unknown_to_the_upstream_names_it(calm: Cluster):
    source = calm.sandbox.create_source()
    known = ctl(calm, "enqueue", source, "--wait-first-poll")
    assert known.returncode == 0 and "created" in known.stdout, known
    unknown = ctl(calm, "enqueue", "src_mistyped", source, "--wait-first-poll")
    assert unknown.returncode == 1 and "created" in unknown.stdout, unknown
    named = [line for line in unknown.stderr.splitlines() if "src_" in line]
    assert len(named) == 1 and "src_mistyped: the upstream does not know this source (404)" in named[0], unknown


def test_enqueueing_twice_joins_the_open_watch(calm: Cluster):
    source = calm.sandbox.create_source()
    first = calm.api.enqueue(source, policy="interactive")
    second = calm.api.enqueue(source, policy="interactive", notify=[calm.webhook.url])
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"]
    settle(calm, source)
    wait_until(
        lambda: len(calm.webhook.receipts.of(source)) == len(calm.api.events(source)),
        60,
        "the joined endpoint has every event",
    )


def test_a_rejected_webhook_is_retried_in_order(calm: Cluster):
    source = calm.sandbox.create_source()
    calm.webhook.refuse(1)
    calm.enqueue(source)
    # Each further change triggers a retry at once. None overtakes the refused event.
    settle(calm, source)
    calm.verify([source])
    assert len(calm.webhook.attempts) > len(calm.webhook.receipts.all())


def test_a_cancelled_watch_is_reported_and_no_longer_polled(calm: Cluster):
    source = calm.follow_new()
    assert calm.api.request("DELETE", f"/v1/watches/{source}").ok
    wait_until(lambda: calm.api.watch(source)["state"] == "closed", 60, "closed")
    calm.wait_delivered([source])
    assert calm.webhook.receipts.of(source)[-1].type == "watch.cancelled"
    polls = len(calm.sandbox.polls(source))
    calm.sandbox.set_status(source, "chargeable")
    # An extra poll would come while another source settles.
    other = calm.enqueue_new()
    settle(calm, other)
    # A worker that held the watch when it was cancelled may still poll it once.
    assert len(calm.sandbox.polls(source)) <= polls + 1


def test_the_last_poll_is_at_the_deadline(calm: Cluster):
    source = calm.sandbox.create_source()
    watch = calm.enqueue(source, timeout="3s", policy="patient")
    wait_until(lambda: calm.api.watch(source)["state"] == "closed", 60, "expired")
    assert calm.api.watch(source)["closed_reason"] == "expired"
    events = calm.api.events(source)
    assert [event["type"] for event in events] == ["source.pending", "watch.expired"]
    # Without the deadline, the next poll would come after half a minute.
    assert events[-1]["observed"]["lag_ms"] < 20_000, watch
    calm.verify([source])


def test_no_client_secret_leaves_the_system(calm: Cluster):
    source = calm.enqueue_new()
    settle(calm, source)
    calm.wait_delivered([source])
    secret = calm.sandbox.source(source)["client_secret"]
    told = json.dumps([receipt.body for receipt in calm.webhook.receipts.of(source)])
    assert secret not in told
    # No member has that name, even an empty one. URLs keep only the redacted parameter.
    assert told.count("client_secret") == told.count("client_secret=redacted")
    logs = "".join(path.read_text(errors="replace") for path in calm.logs.iterdir() if path.name != "sandbox.1.out")
    assert "src_client_secret" not in logs
    assert calm.env["POLLER_WEBHOOK_SECRET"] not in logs


def test_pollerctl_enqueues_waits_and_shows(calm: Cluster):
    source = calm.sandbox.create_source()
    done = ctl(
        calm, "enqueue", source, "--policy", "interactive", "--notify", calm.webhook.url
    )
    assert done.returncode == 0, done.stderr
    calm.wait_status(source, "pending")
    waiting = subprocess.Popen(
        [program("pollerctl"), "wait", source, "--until", "final", "--timeout", "60s"],
        env=os.environ | {"POLLER_URL": calm.api.url},
        stdout=subprocess.DEVNULL,
    )
    settle(calm, source)
    assert waiting.wait(60) == 0

    shown = ctl(calm, "get", source, "--json")
    assert json.loads(shown.stdout)["status"] == "consumed"
    listed = ctl(calm, "events", source, "--json")
    assert listed.returncode == 0
    for event in calm.api.events(source):
        assert event["id"] in listed.stdout


def test_pollerctl_wait_distinguishes_a_timeout_from_a_failed_payment(calm: Cluster):
    source = calm.follow_new()
    assert ctl(calm, "wait", source, "--timeout", "1s").returncode == 3
    calm.set_status(source, "failed")
    ended = ctl(calm, "wait", source, "--until", "chargeable", "--timeout", "10s")
    assert ended.returncode == 2


def test_doctor_finds_nothing_wrong_with_a_healthy_cluster(calm: Cluster):
    def is_healthy() -> bool:
        done = ctl(calm, "doctor")
        print(done.stdout + done.stderr)
        return done.returncode == 0

    # On a busy machine a process may be missing for some seconds.
    wait_until(is_healthy, 60, "no check fails")
