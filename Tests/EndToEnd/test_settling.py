"""Tests that a payment is captured or cancelled once before a deadline, if its watch is configured for it."""

from datetime import datetime

import pytest
from test_charging import closed, payment_events, types
from test_configured import check

from harness.cluster import LEASE_S, SHORT_LEASE, Cluster
from harness.commands import run
from harness.faked_clock import FakedClock
from harness.preloaded import IS_HERE
from harness.waiting import wait_until

DAY_S = 86400


def intent(cluster: Cluster, held: bool = True, **form) -> str:
    """Creates a payment intent whose money is held, or one that waits for its payer."""
    form = {"amount": 2000, "currency": "eur", "payment_method_types[]": "card"} | form
    if held:
        form |= {"capture_method": "manual", "payment_method": "pm_card_visa", "confirm": "true"}
    made = cluster.sandbox._stripe("POST", "/v1/payment_intents", form)
    assert made["status"] == ("requires_capture" if held else "requires_payment_method")
    return made["id"]


def posts(cluster: Cluster, source: str, family: str = "payment_intents") -> list[str]:
    """Returns the operations on an intent since its creation, in order."""
    listed = cluster.sandbox._call("GET", f"/_sandbox/requests?path=/v1/{family}/{source}/*")["data"]
    return [request["path"].rpartition("/")[2] for request in listed if request["method"] == "POST"]


def counted(cluster: Cluster) -> float:
    return sum(worker.metric("poller_acts_total") for worker in cluster.workers)


def watch(cluster: Cluster, source: str, **fields) -> dict:
    answer = cluster.api.enqueue(source, **fields)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def wait_polled(cluster: Cluster, source: str) -> None:
    """Waits for a poll that starts after this call."""
    before = len(cluster.sandbox.polls(source))
    cluster.api.request("POST", f"/v1/watches/{source}/poll")
    wait_until(lambda: len(cluster.sandbox.polls(source)) > before + 1, 60, "polled again")


def advance(cluster: Cluster, seconds: float) -> None:
    cluster.sandbox._call("POST", "/_sandbox/clock/advance", json={"seconds": seconds})


def test_an_unpaid_intent_is_polled_once_more_and_cancelled(calm: Cluster):
    source = intent(calm, held=False)
    acts = counted(calm)
    made = watch(calm, source, abandoned="cancel", timeout="3s", policy="interactive")
    assert made["abandoned"] == "cancel" and "authorisation" not in made
    why = calm.api.request("GET", f"/v1/watches/{source}/explain").json()["reasons"]
    assert any("if it is not paid by" in reason and reason.endswith("it is cancelled") for reason in why), why
    end = closed(calm, source)
    assert (end["status"], end["closed_reason"]) == ("canceled", "settled")
    assert (end["payment"]["state"], end["payment"]["reason"]) == ("expired", "abandoned")
    # If the first poll comes after the deadline, it already cancels.
    *first, last = types(calm, source)
    assert first in ([], ["payment_intent.requires_payment_method"]) and last == "payment_intent.canceled"
    assert posts(calm, source) == ["cancel"]
    assert counted(calm) == acts + 1
    # The last poll before the cancellation was after the deadline.
    deadline = datetime.fromisoformat(made["deadline_at"]).timestamp() * 1000
    assert calm.sandbox.polls(source)[-2]["at_ms"] >= deadline


def test_an_intent_paid_at_the_last_moment_stays_paid(calm: Cluster):
    source = intent(calm, held=False)
    watch(calm, source, abandoned="cancel", timeout="10s", policy="patient")
    calm.wait_status(source, "requires_payment_method")
    # The next poll is at the deadline, and it finds the payment.
    form = {"payment_method": "pm_card_visa"}
    calm.sandbox._stripe("POST", f"/v1/payment_intents/{source}/confirm", form)
    end = closed(calm, source)
    assert (end["status"], end["payment"]["state"]) == ("succeeded", "paid")
    assert "cancel" not in posts(calm, source)


def test_a_watch_without_deadline_actions_does_not_change_the_intent(calm: Cluster):
    source = intent(calm, held=False)
    watch(calm, source, timeout="2s", policy="interactive")
    assert closed(calm, source)["closed_reason"] == "expired"
    assert posts(calm, source) == []


def test_an_unfinished_setup_is_cancelled(calm: Cluster):
    setup = calm.sandbox._stripe("POST", "/v1/setup_intents", {"payment_method_types[]": "card"})["id"]
    watch(calm, setup, abandoned="cancel", timeout="2s", policy="interactive")
    assert closed(calm, setup)["status"] == "canceled"
    assert posts(calm, setup, "setup_intents") == ["cancel"]


def test_an_invalid_deadline_action_is_rejected_with_its_field(calm: Cluster):
    for source, fields, field in (
        ("src_1", {"authorisation": "capture"}, "authorisation"),
        ("seti_1", {"authorisation": "cancel"}, "authorisation"),
        ("ch_1", {"abandoned": "cancel"}, "abandoned"),
        ("pi_1", {"authorisation": "take"}, "authorisation"),
        ("pi_1", {"abandoned": True}, "abandoned"),
    ):
        answer = calm.api.enqueue(source, **fields)
        assert answer.status_code in (400, 422) and answer.json()["field"] == field, answer.text


@pytest.mark.skipif(not IS_HERE, reason="needs a C compiler on Linux")
def test_a_hold_lasts_as_long_as_its_payment_method_allows(chaos, tmp_path):
    clock = FakedClock(tmp_path / "clock")
    cluster: Cluster = chaos(listen=False, redis_env=clock.env, env={"POLLER_STRIPE_SWEEP": "off"})
    source = intent(cluster, held=False, **{"payment_method_types[]": "klarna", "capture_method": "manual"})
    form = {"payment_method_data[type]": "klarna", "return_url": "https://shop.example.com/thanks"}
    cluster.sandbox._stripe("POST", f"/v1/payment_intents/{source}/confirm", form)
    cluster.sandbox._call("POST", f"/_sandbox/payment_intents/{source}/status", json={"status": "requires_capture"})
    watch(cluster, source, authorisation="cancel")
    cluster.wait_status(source, "requires_capture")
    # A card's hold would have ended, but this one lasts four weeks, which only its payment method shows.
    passed = 0.0
    for day in (6.5, 8, 24):
        advance(cluster, (day - passed) * DAY_S)
        passed = day
        clock.set(int(day * DAY_S))
        wait_polled(cluster, source)
        assert "cancel" not in posts(cluster, source), day
    advance(cluster, (25.5 - passed) * DAY_S)
    clock.set(int(25.5 * DAY_S))
    assert closed(cluster, source)["payment"]["state"] == "cancelled"
    assert posts(cluster, source)[-1] == "cancel"


@pytest.mark.skipif(not IS_HERE, reason="needs a C compiler on Linux")
def test_a_hold_is_captured_or_released_before_it_expires_even_after_a_downtime(chaos, tmp_path):
    clock = FakedClock(tmp_path / "clock")
    config = tmp_path / "poller.yaml"
    config.write_text("accounts:\n  default:\n    authorisation: capture\n")
    cluster: Cluster = chaos(
        listen=False, redis_env=clock.env,
        env={"POLLER_CONFIG_FILE": str(config), "POLLER_STRIPE_SWEEP": "off"},
    )
    let_go, left, standing = intent(cluster), intent(cluster), intent(cluster)
    watch(cluster, let_go, authorisation="cancel")
    watch(cluster, left, authorisation="leave")
    # This watch's own deadline passes earlier. A hold to be captured keeps the watch open.
    watch(cluster, standing, timeout="1h")
    everybody = (let_go, left, standing)
    for source in everybody:
        cluster.wait_status(source, "requires_capture")
    why = cluster.api.request("GET", f"/v1/watches/{let_go}/explain").json()["reasons"]
    assert any("it is released at " in reason for reason in why), why
    # In the sandbox a card's hold lasts a week.
    clock.set(6 * DAY_S)
    advance(cluster, 6 * DAY_S)
    for source in everybody:
        wait_polled(cluster, source)
        assert posts(cluster, source) == [], source
    for worker in cluster.workers:
        worker.kill9()
    clock.set(int(6.5 * DAY_S))
    advance(cluster, 0.5 * DAY_S)
    for worker in cluster.workers:
        worker.start().wait_ready()
    assert closed(cluster, let_go)["payment"]["state"] == "cancelled"
    assert closed(cluster, standing)["payment"]["state"] == "paid"
    assert posts(cluster, let_go) == ["cancel"] and posts(cluster, standing) == ["capture"]
    wait_polled(cluster, left)
    assert posts(cluster, left) == [] and cluster.api.watch(left)["status"] == "requires_capture"
    for source, last in ((let_go, "cancelled"), (standing, "paid")):
        assert payment_events(cluster, source)[-1] == f"payment.{last}"
        assert payment_events(cluster, source).count(f"payment.{last}") == 1
    assert cluster.fsck().returncode == 0


@pytest.mark.skipif(not IS_HERE, reason="needs a C compiler on Linux")
def test_workers_killed_between_action_and_commit_act_once(chaos, tmp_path):
    clock = FakedClock(tmp_path / "clock")
    env = SHORT_LEASE | {"POLLER_STRIPE_SWEEP": "off"}
    cluster: Cluster = chaos(workers=2, listen=False, redis_env=clock.env, env=env)
    held = [intent(cluster) for _ in range(12)]
    lost = [intent(cluster, held=False) for _ in range(12)]
    for source in held:
        watch(cluster, source, authorisation="capture")
        cluster.wait_status(source, "requires_capture")
    # Each operation takes effect at once and its answer is delayed, so workers die in between.
    slow = cluster.sandbox.fault("delay", match="/v1/payment_intents", method="POST", delay_ms=900)
    for source in lost:
        watch(cluster, source, abandoned="cancel", timeout="5s")
    clock.set(int(6.5 * DAY_S))
    advance(cluster, 6.5 * DAY_S)

    def done() -> int:
        return sum(len(posts(cluster, source)) for source in (*held, *lost))

    for _ in range(4):
        before = done()
        wait_until(lambda: done() > before or done() >= 24, 60, "another act")
        for worker in cluster.workers:
            worker.kill9()
            worker.start().wait_ready()
    cluster.sandbox.clear_fault(slow)
    for source in held:
        assert closed(cluster, source, timeout_s=90 + LEASE_S)["payment"]["state"] == "paid"
    for source in lost:
        assert closed(cluster, source, timeout_s=90 + LEASE_S)["payment"]["reason"] == "abandoned"
    for source, word in [(source, "paid") for source in held] + [(source, "expired") for source in lost]:
        assert payment_events(cluster, source).count(f"payment.{word}") == 1, payment_events(cluster, source)
        assert payment_events(cluster, source)[-1] == f"payment.{word}"
        # A repeated capture or cancellation would fail, and the amount shows that the first took effect.
        intended = cluster.sandbox._stripe("GET", f"/v1/payment_intents/{source}")
        assert intended["amount_received"] == (2000 if word == "paid" else 0)
    assert not cluster.fsck().returncode, cluster.fsck().stdout


def test_the_command_line_sets_deadline_actions(calm: Cluster):
    source, env = intent(calm), {"POLLER_URL": calm.api.url}
    said = run("pollerctl", "enqueue", source, "--authorisation", "cancel", "--abandoned", "leave", env=env)
    assert said.returncode == 0, said.stderr
    found = calm.api.watch(source)
    assert (found["authorisation"], found["abandoned"]) == ("cancel", "leave")
    why = run("pollerctl", "explain", source, env=env)
    assert "released" in why.stdout, why.stdout
    calm.api.request("DELETE", f"/v1/watches/{source}")


@pytest.mark.parametrize("account, said", [
    ("  default:\n    authorisation: perhaps\n", "must be one of capture, cancel, leave"),
    ("  default:\n    abandoned: capture\n", "must be one of cancel, leave"),
    ("  acme:\n    stripe_api_key: {env: PUBLIC}\n    abandoned: cancel\n", "need a secret key"),
])
def test_an_invalid_setting_is_rejected_at_startup(tmp_path, account: str, said: str):
    done = check(tmp_path, "accounts:\n" + account)
    assert done.returncode == 78 and said in done.stderr, done.stderr
    shown = check(tmp_path, "accounts:\n  default:\n    authorisation: capture\n    abandoned: cancel\n")
    line = "account default, captures holds before they expire, cancels unpaid intents"
    assert shown.returncode == 0 and line in shown.stdout
