"""Tests `pollerctl source` and `pollerctl intent`: each step of Stripe's guides on the command line."""

import json
import subprocess

import pytest
from harness.cluster import Cluster, program
from harness.commands import pollerctl
from harness.sandbox import Sandbox

R = ("--return-url", "https://shop.example/r")
A = ("--amount", "1099")
EUR = ("--currency", "eur")

# Each payment method with the options it needs, and its customer's next action.
METHODS = {
    "bancontact": ((*A, "--name", "Jenny Rosen", *R), "redirect"),
    "card": (("--number", "4242424242424242", "--exp-month", "12", "--exp-year", "2034",
              "--cvc", "123"), "charge"),
    "giropay": ((*A, "--name", "Jenny Rosen", *R), "redirect"),
    "ideal": ((*A, "--bank", "ing", *R), "redirect"),
    "sepa_debit": (("--name", "Jenny Rosen", "--iban", "DE89370400440532013000"), "charge"),
    "sofort": ((*A, "--country", "DE", *R), "redirect"),
    "klarna": ((*EUR, "--purchase-country", "DE", "--item", "1000:Shoes", "--item", "99:Post", *R),
               "redirect"),
    "alipay": ((*A, *EUR, *R), "redirect"),
    "alipay_reusable": ((*EUR, *R), "redirect"),
    "p24": ((*A, *EUR, "--email", "jenny@example.com", *R), "redirect"),
    "eps": ((*A, "--name", "Jenny Rosen", *R), "redirect"),
    "multibanco": ((*A, "--email", "jenny@example.com", *R), "pay"),
    "wechat": ((*A, *EUR, "--app-id", "wx0000"), "scan"),
}


def ctl(cluster: Cluster, *arguments: str, status: int = 0, **env: str):
    return pollerctl(cluster, *arguments, status=status, env=env)


def read(cluster: Cluster, *arguments: str, status: int = 0) -> dict:
    return json.loads(ctl(cluster, *arguments, "--json", status=status).stdout.splitlines()[0])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_created_by_its_name_and_shows_the_next_step(calm: Cluster, method: str):
    options, step = METHODS[method]
    made = read(calm, "source", "create", method, *options)
    assert made["next"]["step"] == step, made["next"]
    source = made["object"]["id"]
    again = read(calm, "source", "get", source)
    assert again["next"]["step"] == step
    shown = ctl(calm, "source", "get", source).stdout
    assert source in shown and made["next"]["text"] in shown
    if step == "redirect":
        assert made["next"]["url"].startswith("http")
    if step == "pay":
        assert made["next"]["address"] and made["next"]["amount_missing"] == 1099


@pytest.mark.parametrize("method", ["ideal", "sepa_debit", "card", "alipay"])
def test_every_method_accepts_an_email_address(calm: Cluster, method: str):
    made = read(calm, "source", "create", method, *METHODS[method][0], "--email", "zoe@example.com")
    assert made["object"]["owner"]["email"] == "zoe@example.com", made


@pytest.mark.parametrize("method", [m for m, (options, _) in METHODS.items() if options])
def test_a_missing_option_is_named_and_nothing_is_sent(calm: Cluster, method: str):
    done = ctl(calm, "source", "create", method, status=64, POLLER_STRIPE_API_BASE="http://127.0.0.1:1")
    assert "--" in done.stderr and method in done.stderr


def test_three_d_secure_authenticates_a_card(calm: Cluster):
    card = read(calm, "source", "create", "card", *METHODS["card"][0])["object"]["id"]
    made = read(calm, "source", "create", "three_d_secure", *A, *EUR, "--card", card, *R)
    assert made["object"]["type"] == "three_d_secure"


@pytest.mark.parametrize("method, options", [
    ("visa_checkout", ("--call-id", "1")),
    ("masterpass", ("--cart-id", "1", "--transaction-id", "2")),
    ("bitcoin", (*A, *EUR, "--email", "jenny@example.com")),
])
def test_methods_withdrawn_by_stripe_are_sent_and_the_refusal_is_shown(calm, method, options):
    done = pollerctl(calm, "source", "create", method, *options, status=None)
    assert done.returncode in (0, 1) and (done.stdout or done.stderr)


def test_wrong_usage_is_rejected_with_advice(calm: Cluster):
    for arguments, said in (
        (("ideal", *A, *R, "--iban", "X"), "does not accept --iban"),
        (("ideal", "--amount", "0", *R), "positive"),
        (("Ideal!", *A), "payment method"),
        (("klarna", *EUR, "--purchase-country", "DE", "--item", "Shoes", *R), "AMOUNT:DESCRIPTION"),
        (("ideal", *A, *R, "--policy", "patient"), "--watch"),
    ):
        done = ctl(calm, "source", "create", *arguments, status=64)
        assert said in done.stderr, done.stderr
    done = ctl(calm, "source", "create", "ideal", *A, *R, status=64, STRIPE_API_KEY="")
    assert "STRIPE_API_KEY" in done.stderr
    done = ctl(calm, "source", "get", "src_nobody", status=1)
    assert "resource_missing" in done.stderr
    ctl(calm, "source", "get", "src_1", status=69, POLLER_STRIPE_API_BASE="http://127.0.0.1:1")


def test_one_command_creates_watches_charges_and_follows_a_source(calm: Cluster):
    done = subprocess.Popen(
        [program("pollerctl"), "source", "create", "ideal", *A, *R, "--follow",
         "--charge-when-chargeable", "--policy", "interactive", "--json"],
        env={"POLLER_URL": calm.api.url, "POLLER_STRIPE_API_BASE": calm.sandbox.url,
             "STRIPE_API_KEY": Sandbox.KEY},
        stdout=subprocess.PIPE, text=True,
    )
    source = json.loads(done.stdout.readline())["object"]["id"]
    calm.sandbox.authorise(source)
    out, _ = done.communicate(timeout=120)
    types = [json.loads(line)["type"] for line in out.splitlines()]
    assert types[-2:] == ["charge.succeeded", "source.consumed"], types
    assert done.returncode == 0
    # The manual command uses the same key, so the source is not charged twice.
    refused = ctl(calm, "source", "charge", source, status=1)
    assert "consumed, not chargeable" in refused.stderr


def test_a_receiver_is_paid_in_parts_and_late_money_is_returned(calm: Cluster):
    made = read(calm, "source", "create", "multibanco", *A, "--email", "j@example.com", *R, "--watch",
                "--policy", "interactive")
    source = made["object"]["id"]
    pay = f"/_sandbox/sources/{source}/payments"
    calm.sandbox._call("POST", pay, json={"amount": 400})
    part = read(calm, "source", "get", source)
    assert part["next"]["amount_missing"] == 699
    assert "pending, not chargeable" in ctl(calm, "source", "charge", source, status=1).stderr
    calm.sandbox._call("POST", pay, json={"amount": 900})
    calm.wait_status(source, "chargeable")
    charge = json.loads(ctl(calm, "source", "charge", source, "--json").stdout)
    assert charge["status"] == "succeeded" and charge["amount"] == 1099
    calm.wait_status(source, "consumed")
    end = read(calm, "source", "get", source)["object"]["receiver"]
    assert (end["amount_received"], end["amount_charged"], end["amount_returned"]) == (1300, 1099, 201)
    assert end["refund_attributes_status"] == "requested"
    shown = ctl(calm, "source", "get", source).stdout
    assert "returned" in shown and "requested" in shown
    calm.sandbox._call("POST", f"/_sandbox/sources/{source}/refund_attributes", json={})
    assert "available" in ctl(calm, "source", "get", source).stdout


def ach(calm: Cluster) -> str:
    made = read(
        calm, "source", "create", "ach_debit", "--currency", "usd", "--name", "Jenny Rosen",
        "--param", "ach_debit[country]=US", "--param", "ach_debit[routing_number]=110000000",
        "--param", "ach_debit[account_number]=000123456789", "--param", "ach_debit[type]=individual",
        "--watch", "--policy", "interactive",
    )
    assert made["next"]["step"] == "verify", made["next"]
    assert "AMOUNT AMOUNT" in made["next"]["text"], made["next"]
    return made["object"]["id"]


def test_a_code_is_verified_and_wrong_codes_use_up_attempts(calm: Cluster):
    source = ach(calm)
    left = read(calm, "source", "get", source)["next"]["attempts_remaining"]
    wrong = ctl(calm, "source", "verify", source, "1", "2", status=1)
    assert f"{left - 1} attempts left" in wrong.stderr
    assert read(calm, "source", "get", source)["next"]["attempts_remaining"] == left - 1
    read(calm, "source", "verify", source, "32", "45")
    calm.wait_status(source, "chargeable")


def test_with_no_attempt_left_the_source_fails_and_is_reported(calm: Cluster):
    source = ach(calm)
    for _ in range(read(calm, "source", "get", source)["next"]["attempts_remaining"]):
        ctl(calm, "source", "verify", source, "1", "2", status=1)
    found = read(calm, "source", "get", source)
    assert found["object"]["status"] == "failed" and found["next"]["step"] == "nothing"
    calm.wait_status(source, "failed")
    assert calm.api.events(source)[-1]["type"] == "source.failed"
    ctl(calm, "source", "verify", source, "32", "45", status=1)


def test_an_intent_goes_from_creation_to_capture(calm: Cluster):
    made = read(calm, "intent", "create", *A, *EUR, "--allow", "card", "--capture-later", "--watch",
                "--policy", "interactive")
    intent = made["object"]["id"]
    assert made["next"]["step"] == "choose_method"
    confirmed = read(calm, "intent", "confirm", intent, "--payment-method", "pm_card_visa")
    assert confirmed["next"]["step"] == "capture"
    calm.wait_status(intent, "requires_capture")
    calm.sandbox._stripe("POST", f"/v1/payment_intents/{intent}/capture")
    calm.wait_status(intent, "succeeded")
    assert read(calm, "intent", "get", intent)["next"]["step"] == "nothing"


def test_an_intent_redirects_the_customer_and_is_cancelled(calm: Cluster):
    made = read(calm, "intent", "create", *A, *EUR, "--method", "ideal", "--confirm", *R)
    assert made["next"]["step"] == "redirect" and made["next"]["url"].startswith("http")
    intent = made["object"]["id"]
    calm.sandbox._stripe("POST", f"/v1/payment_intents/{intent}/cancel")
    ended = read(calm, "intent", "get", intent)
    assert ended["object"]["status"] == "canceled" and ended["next"]["step"] == "nothing"
    ctl(calm, "intent", "create", *A, *EUR, "--confirm", status=64)
    ctl(calm, "intent", "create", *A, *EUR, *R, status=64)
    ctl(calm, "intent", "confirm", intent, "--method", "ideal", "--payment-method", "pm_1", status=64)


@pytest.mark.parametrize("command", [
    "setup create", "refund create ch_1", "dispute list", "intent capture pi_1", "intent cancel pi_1",
    "source attach src_1 --customer cus_1", "source refund-account src_1 --name A",
])
def test_commands_of_the_stripe_cli_are_not_duplicated(calm: Cluster, command: str):
    ctl(calm, *command.split(), status=64)
    for group in ("source", "intent"):
        assert "docs.stripe.com/stripe-cli" in ctl(calm, group, "--help").stdout
