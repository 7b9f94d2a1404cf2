"""Tests the built `stripe-sandbox` as a program: a complete payment, and its exit.

The files `test_stripe_*.py` next to it cover every flow with Stripe's official Python client.
"""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest
import requests
import stripe

from harness.stripe_lab import WEBHOOK_SECRET, StripeLab, eventually


@pytest.fixture(scope="module")
def lab():
    with StripeLab(webhook=True) as lab:
        yield lab


def test_authorised_source_is_charged_once(lab):
    source = lab.source()
    assert source.object == "source" and source.status == "pending"
    assert source.owner.name == "Zoë & Söhne"
    assert lab.again(source) == source
    lab.press(source, "authorize")
    params = {"amount": 1099, "currency": "eur", "source": source.id}
    options = {"idempotency_key": f"order-{source.id}"}
    charge = lab.v1.charges.create(params, options)
    assert charge.status == "succeeded" and charge.source.status == "consumed"
    # The poller, the webhook and the returning customer may race, but only one charge is made.
    assert lab.v1.charges.create(params, options).id == charge.id
    with pytest.raises(stripe.InvalidRequestError) as again:
        lab.v1.charges.create(params)
    assert again.value.http_status == 400
    with pytest.raises(stripe.IdempotencyError):
        lab.v1.charges.create(params | {"amount": 1}, options)
    body, header = lab.hook.take("source.chargeable", source.id)
    event = stripe.Webhook.construct_event(body, header, WEBHOOK_SECRET)
    assert lab.v1.events.retrieve(event.id).type == "source.chargeable"
    lab.hook.take("charge.succeeded", charge.id)


def test_every_kind_of_object_is_checked_against_its_schema(lab):
    source = lab.source(owner={"email": "a_chargeable@example.com"})
    lab.until(source, "chargeable")
    refund = lab.v1.refunds.create({"charge": lab.charge(source).id})
    assert lab.again(refund).status == "succeeded"
    lab.v1.payment_intents.create({"amount": 5, "currency": "usd"})
    lab.v1.setup_intents.create({})
    lab.v1.webhook_endpoints.list()
    endpoint = lab.v1.webhook_endpoints.create({"url": lab.hook.url, "enabled_events": ["x"]})
    lab.v1.webhook_endpoints.delete(endpoint.id)
    lab.v1.events.list({"limit": 100})
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.charges.retrieve("ch_none")
    kinds = {"source", "charge", "refund", "payment_intent", "setup_intent", "webhook_endpoint", "event", "error"}
    assert kinds <= set(lab.schemas.seen)
    # The schema check rejects wrong objects.
    with pytest.raises(AssertionError):
        lab.schemas.check(source.to_dict() | {"status": 7})
    with pytest.raises(AssertionError):
        lab.schemas.check(source.to_dict() | {"colour": "red"})


@pytest.mark.parametrize(
    "option", [["--time-scale", "0"], ["--limits", "some"], ["--webhook-tries", "0"], ["--auto-delay", "-1"]]
)
def test_an_invalid_option_is_rejected_with_the_valid_ones(option):
    binary = Path(os.environ["POLLER_BIN_DIR"]) / "stripe-sandbox"
    ended = subprocess.run([binary, "--bind", "127.0.0.1:0", *option], capture_output=True, text=True, timeout=30)
    assert ended.returncode != 0 and option[0] in ended.stderr


def test_a_hanging_request_does_not_delay_the_exit():
    binary = Path(os.environ["POLLER_BIN_DIR"]) / "stripe-sandbox"
    process = subprocess.Popen(
        [binary, "--bind", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    base = process.stdout.readline().split()[-1]
    requests.post(f"{base}/_sandbox/faults", json={"match": "/v1/", "mode": "hang"}, timeout=30)

    def poll():
        try:
            requests.get(f"{base}/v1/sources/src_1", timeout=30)
        except requests.ConnectionError:
            pass  # the sandbox exited, as requested

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    eventually(lambda: requests.get(f"{base}/_sandbox/requests", timeout=30).json()["data"])
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    thread.join(timeout=30)
    assert not thread.is_alive()
