"""Tests events and webhooks with Stripe's official client: lists, deliveries, and their failures."""

import json
import time

import pytest
import stripe

from harness.stripe_lab import DAY, WEBHOOK_SECRET, Hook, StripeLab, eventually


@pytest.fixture(scope="module")
def lab():
    with StripeLab(webhook=True) as lab:
        yield lab


@pytest.fixture
def hook(lab):
    """Returns the command line's webhook receiver, emptied."""
    # An event is pending until its endpoint accepted it, so no delivery can follow after this.
    eventually(lambda: not lab.v1.events.list({"delivery_success": False, "created": {"gt": 0}}).data)
    lab.hook.empty()
    return lab.hook


def failed_sources(lab, count):
    sources = [lab.source() for _ in range(count)]
    for source in sources:
        lab.press(source, "fail")
    return [source.id for source in sources]


def test_events_are_listed_forwards_and_backwards(lab):
    lab.press(lab.source(), "fail")
    start = lab.v1.events.list({"limit": 1}).data[0].id
    made = failed_sources(lab, 25)
    params = {"types": ["source.failed"], "limit": 7}
    forwards = lab.v1.events.list(params | {"ending_before": start}).auto_paging_iter()
    assert [event.data.object.id for event in forwards] == made
    backwards = []
    for event in lab.v1.events.list(params).auto_paging_iter():
        if event.id == start:
            break
        backwards.append(event.data.object.id)
    assert backwards == made[::-1]
    # A page contains the oldest of the newer events, newest first, so that following them forwards misses none.
    page = lab.v1.events.list(params | {"ending_before": start})
    assert [event.data.object.id for event in page.data] == made[6::-1] and page.has_more
    newest = lab.v1.events.list(params)
    assert [event.data.object.id for event in newest.data] == made[:17:-1] and newest.has_more
    assert lab.v1.events.list(params | {"ending_before": newest.data[0].id}).data == []
    older = lab.v1.events.list(params | {"limit": 100, "starting_after": page.data[-2].id})
    assert older.data[0].data.object.id == made[0] and older.data[1].id == start and not older.has_more


def test_events_filter_by_type_family_and_time(lab):
    source = lab.source("sofort")
    lab.press(source, "authorize")
    lab.charge(source)
    newest = lab.v1.events.list({"type": "charge.*", "limit": 1}).data[0]
    assert newest.type.startswith("charge.")
    recent = lab.v1.events.list({"limit": 100}).data
    family = [event.id for event in recent if event.type.startswith("source.")]
    listed = [event.id for event in lab.v1.events.list({"type": "source.*", "limit": 100}).data]
    assert family and listed[: len(family)] == family
    now = newest.created
    assert lab.v1.events.list({"created": {"gt": now + 3600}}).data == []
    assert lab.v1.events.list({"created": {"gte": now - 60, "lte": now + 60}, "limit": 1}).data
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.events.list({"types": [f"source.{number}" for number in range(21)]})
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.events.list({"type": "source.*", "types": ["source.failed"]})
    for params in ({"ending_before": "evt_none"}, {"limit": 101}):
        with pytest.raises(stripe.InvalidRequestError) as refused:
            lab.v1.events.list(params)
        assert refused.value.http_status == 400


def test_events_name_the_request_that_made_them(lab):
    card = lab.v1.sources.create({"type": "card"}, {"idempotency_key": "make-card"})
    event = next(e for e in lab.v1.events.list({"limit": 20}) if e.data.object.id == card.id)
    assert event.request.idempotency_key == "make-card"
    assert event.request.id == card.last_response.headers["Request-Id"]


def test_events_are_deleted_after_thirty_days():
    with StripeLab() as lab:
        old = failed_sources(lab, 1)
        event = lab.v1.events.list().data[0]
        lab.advance(30 * DAY - 60)
        assert lab.v1.events.retrieve(event.id).data.object.id == old[0]
        new = failed_sources(lab, 1)
        lab.advance(120)
        assert [e.data.object.id for e in lab.v1.events.list()] == new
        with pytest.raises(stripe.InvalidRequestError) as gone:
            lab.v1.events.retrieve(event.id)
        assert gone.value.http_status == 404


def test_a_webhook_is_signed_and_counted(lab, hook):
    source = lab.source()
    lab.press(source, "authorize")
    body, header = hook.take("source.chargeable", source.id)
    event = stripe.Webhook.construct_event(body, header, WEBHOOK_SECRET)
    assert event.pending_webhooks == 1 and event.data.object.status == "chargeable"
    eventually(lambda: lab.v1.events.retrieve(event.id).pending_webhooks == 0)
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.Webhook.construct_event(body + b" ", header, WEBHOOK_SECRET)


def test_a_rejected_webhook_is_retried_with_a_new_signature(lab, hook):
    source = lab.source()
    # An event of an earlier test may arrive late.
    hook.refusals, hook.refused_object = 1, source.id
    lab.press(source, "authorize")
    first, _ = hook.take("source.chargeable", source.id, refused=True)
    second, header = hook.take("source.chargeable", source.id)
    assert first == second
    stripe.Webhook.construct_event(second, header, WEBHOOK_SECRET)


def test_retries_follow_a_schedule_that_can_be_compressed():
    """Retries follow after 10, 20 and 40 minutes of sandbox time. Then Stripe stops and the event stays pending."""
    with StripeLab("--webhook-tries", "4", "--webhook-retry-delay", "600", webhook=True) as lab:
        lab.hook.refusals = 4
        source = lab.source()
        lab.press(source, "fail")
        lab.hook.take("source.failed", source.id, refused=True)
        event = lab.v1.events.list().data[0]

        def statuses(count):
            tries = lab.control(f"webhooks/attempts?event={event.id}", method="GET")["data"]
            return [one["status"] for one in tries] if len(tries) == count else None

        for number, pause in [(2, 600), (3, 1200), (4, 2400)]:
            assert eventually(lambda: statuses(number - 1))
            lab.advance(pause - 60)
            assert lab.hook.attempts.empty()
            lab.advance(61)
            lab.hook.take("source.failed", source.id, refused=True)
        assert eventually(lambda: statuses(4)) == [500] * 4
        lab.advance(DAY)
        assert lab.hook.attempts.empty()
        lost = lab.v1.events.list({"delivery_success": False}).data
        assert [(one.id, one.pending_webhooks) for one in lost] == [(event.id, 1)]
        assert lab.v1.events.list({"delivery_success": True}).data == []
        # Like the button in Stripe's Dashboard.
        assert lab.control("webhooks/resend", {"event": event.id}) == {"deliveries": 1}
        lab.hook.take("source.failed", source.id)
        eventually(lambda: lab.v1.events.list({"delivery_success": True}).data)


def test_deliveries_are_lost_on_demand():
    with StripeLab(webhook=True) as lab:
        lab.control("webhooks/faults", {"mode": "drop", "match": "source.*", "times": 1})
        lost, seen = failed_sources(lab, 2)
        assert lab.hook.next()["data"]["object"]["id"] == seen
        # The event of the lost webhook is in the list, as undelivered.
        missed = lab.v1.events.list({"delivery_success": False}).data
        assert lost in [event.data.object.id for event in missed]


def test_deliveries_are_repeated_and_doubled_on_demand(lab, hook):
    repeated = lab.source()
    lab.control("webhooks/faults", {"mode": "duplicate", "times": 1})
    lab.press(repeated, "fail")
    events = [hook.next(), hook.next()]
    assert {event["data"]["object"]["id"] for event in events} == {repeated.id}
    assert events[0]["id"] == events[1]["id"]
    doubled = lab.source()
    lab.control("webhooks/faults", {"mode": "twin", "times": 1})
    lab.press(doubled, "fail")
    events = [hook.next(), hook.next()]
    assert {event["data"]["object"]["id"] for event in events} == {doubled.id}
    assert events[0]["id"] != events[1]["id"]


def test_deliveries_are_held_and_arrive_in_reverse_order(lab, hook):
    fault = lab.control("webhooks/faults", {"mode": "hold"})["id"]
    made = failed_sources(lab, 5)
    assert hook.attempts.empty()
    lab.control(f"webhooks/faults/{fault}", method="DELETE")
    assert [hook.next()["data"]["object"]["id"] for _ in made] == made[::-1]


def test_deliveries_are_delayed(lab, hook):
    lab.control("webhooks/faults", {"mode": "delay", "delay_ms": 600_000, "times": 1})
    source = lab.source()
    lab.press(source, "fail")
    assert hook.attempts.empty()
    lab.advance(601)
    hook.take("source.failed", source.id)


def test_endpoints_are_created_changed_and_deleted(lab):
    own = Hook()
    made = lab.v1.webhook_endpoints.create(
        {"url": own.url, "enabled_events": ["source.chargeable"], "metadata": {"a": "b"}}
    )
    assert made.secret.startswith("whsec_") and made.status == "enabled"
    source = lab.source()
    # Without an option there are three attempts, for an endpoint of the API as for one of the command line.
    own.refusals = 3
    lab.press(source, "authorize")
    for _ in range(3):
        body, header = own.take("source.chargeable", source.id, refused=True)
        stripe.Webhook.construct_event(body, header, made.secret)
    changed = lab.v1.webhook_endpoints.update(made.id, {"enabled_events": ["source.failed"], "description": "x"})
    assert changed.enabled_events == ["source.failed"] and "secret" not in changed
    lab.press(lab.source(), "authorize")
    failed = failed_sources(lab, 1)
    assert own.next()["data"]["object"]["id"] == failed[0]
    disabled = lab.v1.webhook_endpoints.update(made.id, {"disabled": True})
    assert disabled.status == "disabled"
    event = lab.v1.events.retrieve(lab.v1.events.list({"type": "source.failed", "limit": 1}).data[0].id)
    failed_sources(lab, 1)
    assert event.id and own.attempts.empty()
    assert made.id in [endpoint.id for endpoint in lab.v1.webhook_endpoints.list()]
    assert lab.v1.webhook_endpoints.delete(made.id).deleted
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.webhook_endpoints.retrieve(made.id)
    own.close()


def test_a_rolled_secret_signs_next_to_the_new_one(lab):
    own = Hook()
    made = lab.v1.webhook_endpoints.create({"url": own.url, "enabled_events": ["*"]})
    new = lab.control("webhooks/roll", {"endpoint": made.id, "overlap_seconds": 3600})["secret"]
    failed_sources(lab, 1)
    body, header, _ = own.attempts.get(timeout=30)
    assert header.count("v1=") == 2
    for secret in (made.secret, new):
        stripe.Webhook.construct_event(body, header, secret)
    lab.control("webhooks/roll", {"endpoint": made.id, "overlap_seconds": 0})
    time.sleep(0.01)  # the overlap ends at the next millisecond of the machine's clock
    failed_sources(lab, 1)
    assert own.attempts.get(timeout=30)[1].count("v1=") == 1
    lab.v1.webhook_endpoints.delete(made.id)
    own.close()


def test_updates_contain_previous_attributes(lab):
    card = lab.v1.sources.create({"type": "card"})
    charge = lab.charge(card, currency="usd", metadata={"a": "1"})
    lab.v1.charges.update(charge.id, {"metadata": {"a": "2"}})
    event = lab.v1.events.list({"type": "charge.updated", "limit": 1}).data[0]
    assert event.data.previous_attributes.to_dict() == {"metadata": {"a": "1"}}


def test_events_of_connected_accounts_reach_only_connect_endpoints(lab):
    own, connect = Hook(), Hook()
    for receiver, flag in ((own, False), (connect, True)):
        lab.v1.webhook_endpoints.create({"url": receiver.url, "enabled_events": ["*"], "connect": flag})
    params = {"type": "card", "card": {"number": "4242424242424242"}}
    lab.v1.sources.create(params, {"stripe_account": "acct_1"})
    event = connect.next()
    assert (event["type"], event["account"]) == ("source.chargeable", "acct_1")
    lab.v1.sources.create(params)
    assert "account" not in own.next()
    assert own.attempts.empty() and connect.attempts.empty()
    listed = lab.v1.events.list({"limit": 1}, {"stripe_account": "acct_1"}).data
    assert [one.id for one in listed] == [event["id"]]
    for endpoint in lab.v1.webhook_endpoints.list({"limit": 100}):
        lab.v1.webhook_endpoints.delete(endpoint.id)
    own.close()
    connect.close()


def test_invalid_webhook_controls_are_rejected(lab):
    for path, body in [
        ("webhooks/faults", {"mode": "explode"}),
        ("webhooks/faults", {"mode": "drop", "times": 0}),
        ("webhooks/roll", {"endpoint": "we_none"}),
        ("webhooks/resend", {"event": "evt_none"}),
        ("clock/advance", {"seconds": -1}),
        ("limits", {"global_rate": 0}),
        ("keys", {"key": "sk_live_1"}),
    ]:
        answer = lab.http.post(f"{lab.url}/_sandbox/{path}", data=json.dumps(body), timeout=30)
        assert answer.status_code in (400, 404), (path, answer.text)
        assert answer.json()["error"]["message"]


def test_a_skip_of_time_triggers_due_changes_without_a_request():
    """No request reads the source, so only the webhook reveals that its time is up."""
    with StripeLab(webhook=True) as lab:
        source = lab.source()
        lab.advance(3599)
        assert lab.hook.next()["data"]["object"]["id"] == source.id
