"""Tests `pollerctl source` and `pollerctl stripe doctor`: the details of sources and checks of a whole account."""

import json
import os
import subprocess

import pytest

from harness.cluster import program
from harness.stripe_lab import SECRET_KEY, StripeLab

CLUSTER = "https://pay.example.com/v1/stripe/webhook"
PINNED = "2026-10-28.endive"


@pytest.fixture()
def lab():
    with StripeLab() as lab:
        yield lab


def ctl(lab, *arguments: str, status: int = 0, **env: str):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("POLLER_URL", "STRIPE_"))}
    done = subprocess.run(
        [program("pollerctl"), *arguments],
        env=inherited | {"STRIPE_API_KEY": SECRET_KEY, "POLLER_STRIPE_API_BASE": lab.url} | env,
        capture_output=True, text=True, timeout=60,
    )
    assert done.returncode == status, f"{done.returncode} {done.stdout} {done.stderr}"
    return done


def read(lab, *arguments: str, status: int = 0, **env: str) -> dict:
    return json.loads(ctl(lab, *arguments, "--json", status=status, **env).stdout.splitlines()[0])


# Sources.


def test_consent_customer_and_refund_method_are_sent_with_the_source(lab):
    customer = lab.v1.customers.create({"name": "Zoë"}).id
    made = read(lab, "source", "create", "sepa_debit", "--name", "Jenny Rosen", "--iban",
                "DE89370400440532013000", "--customer", customer, "--mandate-notification", "manual",
                "--mandate-ip", "192.0.2.1", "--mandate-user-agent", "M")["object"]
    assert made["customer"] == customer
    lab.v1.charges.create({"amount": 5, "currency": "eur", "source": made["id"], "customer": customer})
    assert lab.v1.events.list({"type": "source.mandate_notification"}).data, "the mandate is manual"
    receiver = read(lab, "source", "create", "ach_credit_transfer", "--currency", "usd", "--email",
                    "zoe@example.com", "--refund-attributes", "manual")["object"]["receiver"]
    assert receiver["refund_attributes_method"] == "manual"
    for wrong in (["--flow", "up"], ["--mandate-ip", "a", "--mandate-contact", "b"], ["--mandate-user-agent", "x"]):
        ctl(lab, "source", "create", "sepa_debit", "--name", "Jenny", "--iban", "DE89370400440532013000",
            *wrong, status=64)


def test_a_transfer_is_shown_in_its_parts(lab):
    made = read(lab, "source", "create", "sepa_credit_transfer", "--currency", "eur", "--email", "zoe@example.com")
    assert made["next"]["transfer"] == {
        "bank_name": "TEST BANK", "iban": "DE89370400440532013000", "bic": "SOGEDEFF"}


def test_a_pending_refund_requests_a_bank_account(lab):
    source = lab.source("multibanco")
    lab.pay(source, 1500)
    lab.v1.refunds.create({"charge": lab.charge(source).id})
    shown = read(lab, "source", "get", source.id)
    assert shown["next"]["step"] == "refund_account"
    assert f"/v1/watches/{source.id}/refund_attributes" in shown["next"]["text"]


def test_a_card_that_requires_3d_secure_is_shown_before_a_decline(lab):
    card = lab.v1.sources.create({"type": "card", "card": {"number": "4000000000003063"}})
    shown = read(lab, "source", "get", card.id)
    assert shown["next"]["step"] == "authenticate"
    declined = ctl(lab, "source", "charge", card.id, "--amount", "1099", "--currency", "eur", status=1)
    assert "authentication_required" in declined.stderr


@pytest.mark.parametrize("type, replacement, urgency", [
    ("ideal", "ideal", "turned_off"), ("giropay", "none", "ended"), ("multibanco", "multibanco", "turned_off"),
])
def test_a_source_names_the_replacement_of_its_type(lab, type, replacement, urgency):
    shown = read(lab, "source", "get", lab.source(type).id)["deprecated"]
    assert (shown["payment_method"], shown["urgency"]) == (replacement, urgency)


# The doctor.


def checkup(lab, *arguments: str, status: int = 0, **env: str) -> dict[str, list[dict]]:
    """Returns the doctor's findings by name."""
    found: dict[str, list[dict]] = {}
    for check in read(lab, "stripe", "doctor", *arguments, status=status, **env)["checks"]:
        found.setdefault(check["name"], []).append(check)
    return found


def endpoint(lab, url: str = CLUSTER, types=("*",), version: str | None = PINNED):
    params = {"url": url, "enabled_events": list(types)} | ({"api_version": version} if version else {})
    return lab.v1.webhook_endpoints.create(params)


def test_a_healthy_account_passes_all_checks(lab):
    endpoint(lab)
    found = checkup(lab)
    assert {name: [check["status"] for check in checks] for name, checks in found.items()} == {
        "key": ["ok"], "permissions": ["ok"], "clock": ["ok"], "rate": ["ok"], "webhooks": ["ok"],
        "deliveries": ["ok"], "sources": ["ok"]}
    shown = ctl(lab, "stripe", "doctor").stdout
    assert "test mode" in shown and SECRET_KEY not in shown


def test_webhook_endpoints_are_checked(lab):
    assert "none of 0 endpoints" in checkup(lab)["webhooks"][0]["message"]
    made = endpoint(lab, types=["charge.succeeded"], version="2024-06-20")
    endpoint(lab, url=CLUSTER.replace("pay.example.com", "PAY.example.com") + "/")
    said = [check["message"] for check in checkup(lab)["webhooks"]]
    assert any("is missing" in text and "charge.dispute.created" in text and made.id in text for text in said)
    assert any("2024-06-20" in text for text in said)
    assert any("have the same URL" in text for text in said)
    lab.v1.webhook_endpoints.update(made.id, {"disabled": True})
    disabled = [check for check in checkup(lab, status=1)["webhooks"] if check["status"] == "failed"]
    assert "disabled" in disabled[0]["message"] and disabled[0]["action"]
    # An address with another path belongs to the cluster if `--url` names it.
    endpoint(lab, url="https://other.example.com/hooks")
    named = checkup(lab, "--url", "https://other.example.com/hooks")["webhooks"]
    assert named[0]["status"] == "ok"


def test_an_endpoint_without_money_events_is_reported(lab):
    sources = ["source.chargeable", "source.failed", "source.canceled"]
    made = endpoint(lab, types=sources)
    (said,) = [check for check in checkup(lab)["webhooks"] if "payment events" in check["message"]]
    assert said["status"] == "warning" and made.id in said["message"] and said["action"]
    for type in ("charge.failed", "charge.refunded", "refund.failed", "charge.dispute.created"):
        assert type in said["message"]
    assert "payment_intent" not in said["message"], "other missing events are another finding"
    money = [name for name in said["message"].split("missing: ")[1].split(", ")]
    lab.v1.webhook_endpoints.update(made.id, {"enabled_events": sources + money})
    assert not [check for check in checkup(lab)["webhooks"] if "payment events" in check["message"]]
    lab.v1.webhook_endpoints.update(made.id, {"enabled_events": ["*"]})
    assert [check["status"] for check in checkup(lab)["webhooks"]] == ["ok"]


def test_objects_that_a_key_may_not_read_are_named(lab):
    lab.control("keys", {"key": "rk_test_narrow", "permissions": {"*": "read", "charges": "none", "disputes": "none"}})
    found = checkup(lab, status=1, STRIPE_API_KEY="rk_test_narrow")
    refused = {check["message"].split()[4].rstrip(":"): check["status"] for check in found["permissions"]}
    assert refused == {"charges": "failed", "refunds": "warning", "disputes": "warning"}
    assert "sources" in found, "the rest is still checked"
    ctl(lab, "stripe", "doctor", status=1, STRIPE_API_KEY="pk_test_0123456789abcdef")
    ctl(lab, "stripe", "doctor", status=77, STRIPE_API_KEY="sk_bad_0123456789abcdef")
    ctl(lab, "stripe", "doctor", status=64, STRIPE_API_KEY="")
    ctl(lab, "stripe", "doctor", status=69, POLLER_STRIPE_API_BASE="http://127.0.0.1:1")


def test_reached_rate_limits_are_reported(lab):
    lab.fault("status", "/v1/refunds", status=429, times=1)
    said = checkup(lab)["rate"][0]
    assert said["status"] == "warning" and "1 of 9 requests" in said["message"]


def test_sources_in_use_are_counted_by_type(lab):
    for _ in range(2):
        lab.press(lab.source("ideal"), "authorize")
    lab.press(lab.source("sofort"), "authorize")
    lab.charge(lab.v1.sources.create({"type": "card"}))
    report = read(lab, "stripe", "doctor")
    assert report["sources"] == {"ideal": 2, "sofort": 1, "card": 1} and report["healthy"]
    said = {check["message"].split()[3]: check for check in report["checks"] if check["name"] == "sources"}
    assert {word: said[word]["status"] for word in said} == {"ideal": "warning", "sofort": "warning", "card": "ok"}
    assert "klarna" in said["sofort"]["action"] and "PaymentMethod ideal" in said["ideal"]["action"]


def test_undelivered_events_are_reported(lab):
    endpoint(lab, url="http://127.0.0.1:9/v1/stripe/webhook")
    lab.press(lab.source("ideal"), "authorize")
    said = checkup(lab)["deliveries"][0]
    assert said["status"] == "warning" and "source.chargeable" in said["message"]
