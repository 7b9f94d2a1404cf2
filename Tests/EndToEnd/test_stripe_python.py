"""Drives the built `stripe-sandbox` with Stripe's official Python client, an independent judge of its answers.

Needs POLLER_BIN_DIR (the folder of the built binaries) and the packages pytest and stripe==16.1.0.
"""

import http.server
import json
import os
import queue
import re
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
import stripe

SECRET_KEY = "sk_test_0123456789abcdef"
WEBHOOK_SECRET = "whsec_end_to_end"
RETURN_URL = "https://shop.example.com/back?order=6"


class Hook:
    """A webhook receiver on a free port; refuses the first `refusals` attempts."""

    def __init__(self):
        self.attempts = queue.Queue()
        self.refusals = 0
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                refused = hook.refusals > 0
                hook.refusals -= refused
                hook.attempts.put((body, self.headers["Stripe-Signature"], refused))
                self.send_response(500 if refused else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, type, object_id, refused=False):
        """The next attempt for this event type and object."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            body, header, was_refused = self.attempts.get(timeout=10)
            event = json.loads(body)
            if event["type"] == type and event["data"]["object"]["id"] == object_id:
                assert was_refused == refused
                return body, header
        raise AssertionError(f"no {type} for {object_id}")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def http_call(method, url, body=None):
    """Status, headers and text; redirects are not followed."""
    data = json.dumps(body).encode() if body is not None else (b"" if method == "POST" else None)
    request = urllib.request.Request(url, data=data, method=method)
    try:
        with urllib.request.build_opener(NoRedirect).open(request, timeout=10) as reply:
            return reply.status, reply.headers, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def eventually(ask):
    """The first true answer within ten seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if answer := ask():
            return answer
        time.sleep(0.02)
    raise AssertionError("it never happened")


@pytest.fixture(scope="module")
def hook():
    hook = Hook()
    yield hook
    hook.server.shutdown()


@pytest.fixture(scope="module")
def sandbox(hook):
    binary = os.path.join(os.environ["POLLER_BIN_DIR"], "stripe-sandbox")
    process = subprocess.Popen(
        [binary, "--bind", "127.0.0.1:0", "--auto-delay", "0.2"]
        + ["--webhook", hook.url, "--webhook-secret", WEBHOOK_SECRET],
        stdout=subprocess.PIPE,
        text=True,
    )
    line = process.stdout.readline()
    match = re.fullmatch(r"stripe-sandbox listening on (http://127\.0\.0\.1:\d+)\n", line)
    assert match, line
    yield match[1]
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=5) == 0


@pytest.fixture(scope="module")
def client(sandbox):
    return stripe.StripeClient(SECRET_KEY, base_addresses={"api": sandbox}, max_network_retries=0)


def make_source(client, **more):
    params = {
        "type": "ideal",
        "amount": 1099,
        "currency": "eur",
        "owner": {"name": "Zoë & Söhne", "email": "zoe@example.com"},
        "redirect": {"return_url": RETURN_URL},
        "metadata": {"order": "6"},
    }
    return client.v1.sources.create(params | more)


def press(source_or_intent, sandbox, button):
    status, headers, _ = http_call("POST", f"{sandbox}/redirect/{source_or_intent.id}/{button}")
    assert status == 303
    return urllib.parse.parse_qs(urllib.parse.urlsplit(headers["Location"]).query)


def test_source_is_created_retrieved_and_modified(client):
    made = make_source(client)
    assert made.object == "source" and made.status == "pending" and made.flow == "redirect"
    assert made.owner.name == "Zoë & Söhne"
    assert made.redirect.status == "pending"
    assert client.v1.sources.retrieve(made.id) == made
    changed = client.v1.sources.update(made.id, {"metadata": {"order": "", "a": "b"}})
    assert changed.metadata.to_dict() == {"a": "b"}


def test_publishable_key_needs_the_client_secret(client, sandbox):
    made = make_source(client)
    public = stripe.StripeClient("pk_test_0123456789", base_addresses={"api": sandbox})
    seen = public.v1.sources.retrieve(made.id, {"client_secret": made.client_secret})
    assert seen.id == made.id and "metadata" not in seen
    with pytest.raises(stripe.InvalidRequestError):
        public.v1.sources.retrieve(made.id)
    with pytest.raises(stripe.PermissionError):
        public.v1.events.list()


def test_authorised_source_is_charged_once(client, sandbox, hook):
    source = make_source(client)
    assert "Authorise test payment" in http_call("GET", source.redirect.url)[2]
    back = press(source, sandbox, "authorize")
    assert back["source"] == [source.id]
    assert back["client_secret"] == [source.client_secret]
    assert back["livemode"] == ["false"] and back["order"] == ["6"]
    assert client.v1.sources.retrieve(source.id).status == "chargeable"

    params = {"amount": 1099, "currency": "eur", "source": source.id}
    options = {"idempotency_key": f"order-{source.id}"}
    charge = client.v1.charges.create(params, options)
    assert charge.status == "succeeded" and charge.source.status == "consumed"
    replay = client.v1.charges.create(params, options)
    assert replay.id == charge.id
    assert replay.last_response.headers["Idempotent-Replayed"] == "true"
    assert client.v1.sources.retrieve(source.id).status == "consumed"
    with pytest.raises(stripe.InvalidRequestError):
        client.v1.charges.create(params)
    with pytest.raises(stripe.IdempotencyError):
        client.v1.charges.create(params | {"amount": 1}, options)

    body, header = hook.take("source.chargeable", source.id)
    event = stripe.Webhook.construct_event(body, header, WEBHOOK_SECRET)
    assert event.data.object.status == "chargeable"
    assert client.v1.events.retrieve(event.id).type == "source.chargeable"
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.Webhook.construct_event(body + b" ", header, WEBHOOK_SECRET)


def test_failed_source_cannot_be_charged(client, sandbox):
    source = make_source(client)
    with pytest.raises(stripe.InvalidRequestError):
        client.v1.charges.create({"amount": 1099, "currency": "eur", "source": source.id})
    assert press(source, sandbox, "fail")["redirect_status"] == ["failed"]
    failed = client.v1.sources.retrieve(source.id)
    assert failed.status == "failed" and failed.redirect.failure_reason == "declined"


def test_documented_email_settles_by_itself(client):
    source = make_source(client, owner={"email": "any_chargeable@example.com"})
    eventually(lambda: client.v1.sources.retrieve(source.id).status == "chargeable")


def test_refused_webhook_is_tried_again_with_a_signature_of_its_own(client, sandbox, hook):
    source = make_source(client)
    while not hook.attempts.empty():
        hook.attempts.get()
    hook.refusals = 1
    press(source, sandbox, "authorize")
    first, _ = hook.take("source.chargeable", source.id, refused=True)
    second, header = hook.take("source.chargeable", source.id)
    assert first == second
    stripe.Webhook.construct_event(second, header, WEBHOOK_SECRET)


def test_errors_are_the_exceptions_of_the_sdk(client, sandbox):
    with pytest.raises(stripe.InvalidRequestError) as missing:
        client.v1.sources.retrieve("src_nobody")
    assert missing.value.http_status == 404
    assert missing.value.code == "resource_missing"
    assert missing.value.request_id.startswith("req_")
    live = stripe.StripeClient("sk_live_0123", base_addresses={"api": sandbox})
    with pytest.raises(stripe.AuthenticationError):
        live.v1.sources.retrieve("src_nobody")
    with pytest.raises(stripe.InvalidRequestError) as bad:
        make_source(client, amount="ten")
    assert bad.value.param == "amount"
    card = client.v1.sources.create({"type": "card", "card": {"number": "4000000000000002"}})
    with pytest.raises(stripe.CardError) as declined:
        client.v1.charges.create({"amount": 5, "currency": "usd", "source": card.id})
    assert declined.value.code == "card_declined"


def test_rate_limit_and_lost_connection_are_told_apart(client, sandbox):
    source = make_source(client)
    match = f"/v1/sources/{source.id}"
    for fault, exception in [
        ({"mode": "status", "status": 429}, stripe.RateLimitError),
        ({"mode": "status", "status": 500}, stripe.APIError),
        ({"mode": "reset"}, stripe.APIConnectionError),
        ({"mode": "html"}, stripe.APIError),
    ]:
        http_call("POST", f"{sandbox}/_sandbox/faults", fault | {"match": match, "times": 1})
        with pytest.raises(exception):
            client.v1.sources.retrieve(source.id)
        assert client.v1.sources.retrieve(source.id).id == source.id


def test_the_sdk_itself_survives_a_lost_answer(sandbox):
    retrying = stripe.StripeClient(
        SECRET_KEY, base_addresses={"api": sandbox}, max_network_retries=2
    )
    fault = {"match": "/v1/sources", "method": "POST", "mode": "reset", "after": True, "times": 1}
    http_call("POST", f"{sandbox}/_sandbox/faults", fault)
    made = make_source(retrying)
    assert made.last_response.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(
    "button, status", [("authorize", "succeeded"), ("fail", "requires_payment_method")]
)
def test_payment_intent_with_redirect(client, sandbox, hook, button, status):
    intent = client.v1.payment_intents.create(
        {"amount": 1099, "currency": "eur", "payment_method_types": ["ideal"]}
    )
    assert intent.status == "requires_payment_method" and intent.next_action is None
    confirmed = client.v1.payment_intents.confirm(
        intent.id, {"payment_method_data": {"type": "ideal"}, "return_url": RETURN_URL}
    )
    assert confirmed.status == "requires_action"
    assert "Authorise" in http_call("GET", confirmed.next_action.redirect_to_url.url)[2]
    back = press(intent, sandbox, button)
    assert back["payment_intent"] == [intent.id]
    assert back["payment_intent_client_secret"] == [intent.client_secret]
    after = client.v1.payment_intents.retrieve(intent.id)
    assert after.status == status
    charge = client.v1.charges.retrieve(after.latest_charge)
    assert charge.payment_intent == intent.id
    assert charge.status == ("succeeded" if button == "authorize" else "failed")
    suffix = "succeeded" if button == "authorize" else "payment_failed"
    body, header = hook.take(f"payment_intent.{suffix}", intent.id)
    stripe.Webhook.construct_event(body, header, WEBHOOK_SECRET)


def test_payment_intent_is_cancelled_once(client):
    intent = client.v1.payment_intents.create({"amount": 5, "currency": "usd"})
    cancelled = client.v1.payment_intents.cancel(intent.id, {"cancellation_reason": "abandoned"})
    assert cancelled.status == "canceled" and cancelled.canceled_at
    with pytest.raises(stripe.InvalidRequestError) as refused:
        client.v1.payment_intents.cancel(intent.id)
    assert refused.value.code == "payment_intent_unexpected_state"


def test_declined_card_intent_is_a_card_error(client):
    with pytest.raises(stripe.CardError) as declined:
        client.v1.payment_intents.create(
            {
                "amount": 5,
                "currency": "usd",
                "payment_method": "pm_card_chargeDeclined",
                "confirm": True,
            }
        )
    intent = declined.value.error.payment_intent
    assert client.v1.payment_intents.retrieve(intent["id"]).status == "requires_payment_method"


def test_events_page_forwards_and_backwards(client, sandbox):
    sources = [make_source(client) for _ in range(25)]
    start = client.v1.events.list({"limit": 1}).data[0].id
    for source in sources:
        press(source, sandbox, "fail")
    params = {"types": ["source.failed"], "limit": 7, "ending_before": start}
    forwards = client.v1.events.list(params).auto_paging_iter()
    assert [event.data.object.id for event in forwards] == [source.id for source in sources]
    backwards = []
    for event in client.v1.events.list({"types": ["source.failed"], "limit": 7}).auto_paging_iter():
        if event.id == start or len(backwards) == 25:
            break
        backwards.append(event.data.object.id)
    assert backwards == [source.id for source in reversed(sources)]


def test_webhook_endpoints(client):
    hook = Hook()
    made = client.v1.webhook_endpoints.create(
        {"url": hook.url, "enabled_events": ["source.chargeable"]}
    )
    source = make_source(client, owner={"email": "own_chargeable@example.com"})
    body, header = hook.take("source.chargeable", source.id)
    stripe.Webhook.construct_event(body, header, made.secret)
    assert made.id in [endpoint.id for endpoint in client.v1.webhook_endpoints.list()]
    assert client.v1.webhook_endpoints.delete(made.id).deleted
    with pytest.raises(stripe.InvalidRequestError):
        client.v1.webhook_endpoints.retrieve(made.id)
    hook.server.shutdown()


def test_a_held_request_does_not_hold_the_exit():
    binary = os.path.join(os.environ["POLLER_BIN_DIR"], "stripe-sandbox")
    process = subprocess.Popen(
        [binary, "--bind", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    base = process.stdout.readline().split()[-1]
    http_call("POST", f"{base}/_sandbox/faults", {"match": "/v1/", "mode": "hang"})

    def poll():
        try:
            http_call("GET", f"{base}/v1/sources/src_1")
        except OSError:
            pass  # the sandbox went away, as asked

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    eventually(lambda: json.loads(http_call("GET", f"{base}/_sandbox/requests")[2])["data"])
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=5) == 0
    thread.join(timeout=5)
    assert not thread.is_alive()
