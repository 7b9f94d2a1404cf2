"""Tests the goals of a watch: `left_pending`, `settled` and `final`."""

import json

from harness.cluster import Cluster
from harness.commands import ctl
from harness.waiting import wait_until


def card(cluster: Cluster) -> str:
    form = {
        "type": "card", "card[number]": "4242424242424242", "card[exp_month]": 12,
        "card[exp_year]": 2034, "card[cvc]": 123,
    }
    return cluster.sandbox._stripe("POST", "/v1/sources", form)["id"]


def closed(cluster: Cluster, source: str) -> dict:
    def look():
        watch = cluster.api.watch(source)
        return watch["state"] == "closed" and watch

    return wait_until(look, 60, f"{source} is closed")


def test_a_watch_until_left_pending_closes_at_the_first_other_status(calm: Cluster):
    source = calm.sandbox.create_source()
    ctl(calm, "enqueue", source, "--policy", "interactive", "--until", "left_pending")
    assert calm.wait_status(source, "pending")["until"] == "left_pending"
    ctl(calm, "wait", source, "--until", "left_pending", "--timeout", "1s", status=3)
    calm.sandbox.authorise(source)
    end = closed(calm, source)
    # The status can still change, and `final` is false.
    assert (end["status"], end["closed_reason"], end["final"]) == ("chargeable", "reached", False)
    last = calm.api.events(source)[-1]
    assert (last["type"], last["closed_reason"], last["final"]) == ("source.chargeable", "reached", False)
    ctl(calm, "wait", source, "--until", "chargeable")
    ctl(calm, "wait", source, "--until", "left_pending")
    ctl(calm, "wait", source, "--until", "final", status=2)
    # Enqueuing the source again follows it further.
    again = calm.api.enqueue(source, policy="interactive").json()
    assert (again["outcome"], again["until"]) == ("restarted", "settled")
    calm.sandbox.charge(source)
    assert closed(calm, source)["closed_reason"] == "settled"


def test_a_reusable_source_settles_as_chargeable_and_can_be_watched_further(calm: Cluster):
    settled = card(calm)
    calm.enqueue(settled, notify=[])
    end = closed(calm, settled)
    assert (end["status"], end["closed_reason"], end["final"]) == ("chargeable", "settled", True)

    source = card(calm)
    shown = json.loads(
        ctl(calm, "enqueue", source, "--policy", "interactive", "--until", "final", "--json").splitlines()[0]
    )
    assert shown["created"] == 1
    watch = calm.wait_status(source, "chargeable")
    assert (watch["state"], watch["until"], watch["final"]) == ("open", "final", False)
    calm.api.request("POST", f"/v1/watches/{source}/poll")
    wait_until(lambda: calm.api.watch(source)["attempts"] >= 3, 60, "polled again")
    types = [event["type"] for event in calm.api.events(source)]
    assert types == ["payment.authorised", "source.chargeable"]
    assert "until" in ctl(calm, "get", source)
    calm.sandbox.set_status(source, "failed")
    end = closed(calm, source)
    assert (end["status"], end["closed_reason"], end["final"]) == ("failed", "settled", True)
    assert ctl(calm, "wait", source)


def test_a_join_with_a_farther_goal_receives_all_events(calm: Cluster):
    source = calm.sandbox.create_source()
    for until, holds in (("left_pending", "left_pending"), ("final", "final"), (None, "final")):
        answer = calm.api.enqueue(source, policy="interactive", until=until)
        assert answer.json()["until"] == holds, answer.text
    calm.wait_status(source, "pending")
    calm.sandbox.authorise(source)
    assert calm.wait_status(source, "chargeable")["state"] == "open"
    calm.sandbox.charge(source)
    assert closed(calm, source)["status"] == "consumed"


def test_an_intent_to_be_captured_has_left_pending(calm: Cluster):
    form = {
        "amount": 2000, "currency": "eur", "payment_method_types[]": "card", "capture_method": "manual",
        "payment_method": "pm_card_visa", "confirm": "true",
    }
    intent = calm.sandbox._stripe("POST", "/v1/payment_intents", form)["id"]
    calm.enqueue(intent, until="left_pending", notify=[])
    end = closed(calm, intent)
    assert (end["status"], end["closed_reason"], end["final"]) == ("requires_capture", "reached", False)
    ctl(calm, "wait", intent, "--until", "left_pending")


def test_a_source_is_charged_before_its_goal_closes_the_watch(calm: Cluster):
    source = calm.follow_new(until="left_pending", charge=True, notify=[])
    calm.sandbox.authorise(source)
    assert closed(calm, source)["charge"]["state"] == "succeeded"


def test_an_unknown_goal_is_rejected_with_the_valid_ones(calm: Cluster):
    for fields in ({"until": "paid"}, {"until": 3}, {"until": "left_pending", "kind": "http", "account": "x"}):
        answer = calm.api.enqueue("order-1" if "kind" in fields else "src_1", **fields)
        assert answer.status_code in (400, 422) and answer.json()["field"] == "until", answer.text
