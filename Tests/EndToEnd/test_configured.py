"""Tests settings of the configuration file: HTTP upstreams named by URL, and accounts that charge."""

import json
import os
import subprocess

import pytest
from harness.cluster import Cluster, program
from harness.commands import pollerctl
from harness.http_server import HTTPServer, Request
from harness.waiting import wait_until

TOKEN = "canary-of-the-bank"


class Bank(HTTPServer):
    """Answers GET requests with JSON, and records each path and token."""

    def __init__(self):
        self.states: dict[str, str] = {}
        self.sums: dict = {}
        self.seen: list[tuple[str, str | None]] = []
        super().__init__()

    def answer(self, request: Request, _body: bytes) -> tuple:
        self.seen.append((request.path, request.headers.get("Authorization")))
        state = self.states.get(request.path.split("?")[0].rsplit("/", 1)[1])
        return 200 if state else 404, {"payment": {"state": state} | self.sums}


@pytest.fixture(scope="module")
def bank():
    with Bank() as bank:
        yield bank


def written(folder, bank: Bank) -> str:
    path = folder / "poller.yaml"
    path.write_text(
        "accounts:\n"
        "  default:\n"
        "    charge: {description: Acme, metadata: {shop: north}}\n"
        "upstreams:\n"
        "  bank:\n"
        f"    url: {bank.url}/payments/{{id}}?full=1\n"
        "    status: /payment/state\n"
        "    final: [settled, rejected]\n"
        "    headers: {Authorization: {env: BANK_TOKEN, prefix: 'Bearer '}}\n"
        "    timeout: 8s\n"
        "  bank2:\n"
        f"    url: {bank.url}/others/{{id}}\n"
        "    status: /payment/state\n"
        "    final: [settled]\n"
        "  paying:\n"
        f"    url: {bank.url}/paying/{{id}}\n"
        "    status: /payment/state\n"
        "    final: [settled, rejected, back]\n"
        "    payment:\n"
        "      state: {map: {open: awaiting_customer, settled: paid, rejected: failed}}\n"
        "      amount: /payment/cents\n"
        "      currency: /payment/currency\n"
    )
    return str(path)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, bank: Bank):
    env = {"POLLER_CONFIG_FILE": written(tmp_path_factory.mktemp("config"), bank), "BANK_TOKEN": TOKEN}
    with Cluster(workers=1, listen=False, env=env) as cluster:
        yield cluster
        for process in cluster.processes:
            assert TOKEN not in process.stdout() + process.tail(), f"{process.name} printed the token"


def by_url(cluster: Cluster, url: str, **fields):
    return cluster.api.request("POST", "/v1/watches", json={"url": url} | fields)


def watch(cluster: Cluster, source: str, account: str = "bank") -> dict:
    return cluster.api.get(f"/v1/watches/{source}?account={account}&kind=http")


def test_a_url_of_an_upstream_is_watched_until_it_is_final(cluster: Cluster, bank: Bank):
    bank.states["pay-1"] = "open"
    url = f"{bank.url}/payments/pay-1?full=1"
    answer = by_url(cluster, url, policy="interactive", notify=[cluster.webhook.url])
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert (made["source"], made["account"], made["kind"]) == ("pay-1", "bank", "http")
    wait_until(lambda: watch(cluster, "pay-1")["status"] == "open", 60, "seen")
    bank.states["pay-1"] = "SETTLED"
    wait_until(lambda: watch(cluster, "pay-1")["state"] == "closed", 60, "closed")
    end = watch(cluster, "pay-1")
    assert (end["status"], end["closed_reason"], end["final"]) == ("settled", "settled", True)
    assert set(bank.seen) == {("/payments/pay-1?full=1", f"Bearer {TOKEN}")}
    # Enqueuing by ID joins or restarts the same watch, because a URL is only another name for it.
    again = cluster.api.enqueue("pay-1", account="bank", kind="http")
    assert again.json()["outcome"] == "restarted" and again.json()["run"] == 2
    assert by_url(cluster, url, source="pay-1", account="bank", kind="http").json()["id"] == made["id"]
    # Its last run ends before another test counts requests.
    wait_until(lambda: watch(cluster, "pay-1")["state"] == "closed", 60, "it is polled again")


def test_an_upstream_can_map_its_response_to_a_payment(cluster: Cluster, bank: Bank):
    bank.states["buy-1"] = "open"
    answer = by_url(cluster, f"{bank.url}/paying/buy-1", policy="interactive", notify=[])
    assert answer.status_code == 201, answer.text
    wait_until(lambda: watch(cluster, "buy-1", "paying")["status"] == "open", 60, "seen")
    assert watch(cluster, "buy-1", "paying")["payment"]["state"] == "awaiting_customer"
    bank.sums = {"cents": 1099, "currency": "EUR"}
    bank.states["buy-1"] = "Settled"
    wait_until(lambda: watch(cluster, "buy-1", "paying")["state"] == "closed", 60, "closed")
    paid = watch(cluster, "buy-1", "paying")["payment"]
    assert (paid["state"], paid["amount"], paid["amount_received"], paid["currency"]) == ("paid", 1099, 1099, "eur")
    log = cluster.api.get("/v1/watches/buy-1/events?account=paying&kind=http")["data"]
    assert [event["type"] for event in log] == ["http.open", "payment.paid", "http.settled"]
    # The status is settled but there is no amount, so the payment is not reported as paid.
    bank.sums = {}
    bank.states["buy-2"] = "settled"
    assert by_url(cluster, f"{bank.url}/paying/buy-2", notify=[]).status_code == 201
    wait_until(lambda: watch(cluster, "buy-2", "paying")["state"] == "closed", 60, "closed")
    assert watch(cluster, "buy-2", "paying")["payment"]["state"] == "unknown"
    # Upstreams without a payment mapping have no payment state.
    assert "payment" not in watch(cluster, "pay-1")


def test_an_unreadable_amount_is_reported_by_the_doctor(cluster: Cluster, bank: Bank):
    assert "all are understood" in pollerctl(cluster, "doctor").stdout
    bank.sums = {"cents": 1.099e3, "currency": "EUR"}
    bank.states["buy-3"] = "settled"
    assert by_url(cluster, f"{bank.url}/paying/buy-3", notify=[]).status_code == 201
    wait_until(lambda: watch(cluster, "buy-3", "paying")["state"] == "closed", 60, "closed")
    assert watch(cluster, "buy-3", "paying")["payment"]["amount"] == 1099
    bank.sums = {"cents": "10,99", "currency": "EUR"}
    bank.states["buy-4"] = "settled"
    assert by_url(cluster, f"{bank.url}/paying/buy-4", notify=[]).status_code == 201
    wait_until(lambda: watch(cluster, "buy-4", "paying")["state"] == "closed", 60, "closed")
    assert watch(cluster, "buy-4", "paying")["payment"]["state"] == "unknown"
    wait_until(lambda: "“10,99” of upstream paying" in pollerctl(cluster, "doctor").stdout, 60, "reported")
    bank.sums = {}


@pytest.mark.parametrize("payment, said", [
    ("{}", "payment needs state"),
    ("{state: {pointer: /x}}", "payment.state needs map"),
    ("{state: {map: {ok: done}}}", "payment.state.map says ok is done, which is none of awaiting_customer"),
    ("{state: {pointer: x, map: {ok: paid}}}", "payment.state.pointer must be a JSON pointer"),
    ("{state: {map: {ok: paid}}, amount: cents}", "payment.amount must be a JSON pointer"),
    ("{state: {map: {ok: paid}}, currency: euro}", "payment.currency must be a JSON pointer such as"),
    ("{state: {map: {ok: paid}}, money: 1}", "has money, which is not one of amount, amount_format, currency, state"),
])
def test_an_invalid_payment_mapping_is_rejected_at_startup(tmp_path, payment: str, said: str):
    upstream = "{url: 'https://b.example/{id}', status: /s, final: [ok], payment: " + payment + "}"
    done = check(tmp_path, f"upstreams:\n  bank: {upstream}\n")
    assert done.returncode == 78 and said in done.stderr, done.stderr


def test_the_command_line_enqueues_urls_of_an_upstream(cluster: Cluster, bank: Bank):
    bank.states |= {"pay-2": "settled", "pay-3": "settled"}
    urls = [f"{bank.url}/payments/pay-{n}?full=1" for n in (2, 3)]
    shown = pollerctl(cluster, "enqueue", "--source-url", urls[0], "--source-url", urls[1], "--follow", "--json").stdout.splitlines()
    assert json.loads(shown[0])["created"] == 2
    assert {json.loads(line)["source"] for line in shown[1:]} == {"pay-2", "pay-3"}
    again = pollerctl(cluster, "enqueue", "--source-url", urls[0]).stdout.rstrip("\n").split("\t")
    assert again[0] == "pay-2" and again[4] == "pay-2 --account bank"
    # Its second run ends before the next test counts requests.
    wait_until(lambda: watch(cluster, "pay-2")["state"] == "closed", 60, "it is polled again")
    for command in ("get", "events", "explain"):
        assert "pay-2" in pollerctl(cluster, command, *again[4].split()).stdout
    refused = pollerctl(cluster, "enqueue", "--source-url", "https://elsewhere.example/payments/1", status=64)
    assert "upstream" in refused.stderr


def test_urls_outside_the_configuration_are_never_requested(cluster: Cluster, bank: Bank):
    asked = len(bank.seen)
    for url in (
        f"{bank.url}/secrets/1", f"{bank.url}/payments/1", f"{bank.url}/payments/a/b?full=1",
        f"{bank.url}/payments/..?full=1", "http://169.254.169.254/latest/meta-data",
        f"{bank.url.replace('127.0.0.1', 'localhost')}/payments/1?full=1", "file:///etc/passwd", "x",
    ):
        answer = by_url(cluster, url)
        assert (answer.status_code, answer.json()["field"]) == (422, "url"), answer.text
        assert TOKEN not in answer.text
    url = f"{bank.url}/payments/pay-9?full=1"
    for fields, field in (
        ({"source": "pay-8"}, "source"), ({"kind": "source"}, "kind"), ({"account": "bank2"}, "url"),
        ({"account": "nobody"}, "url"),
    ):
        answer = by_url(cluster, url, **fields)
        assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text
    assert len(bank.seen) == asked
    batch = [{"url": url}, {"url": f"{bank.url}/nowhere"}]
    answer = cluster.api.request("POST", "/v1/watches/batch", json=batch)
    assert answer.status_code == 422 and answer.json()["errors"][0]["index"] == 1


def test_an_account_can_charge_every_chargeable_source(cluster: Cluster):
    source = cluster.follow_new(notify=[])
    cluster.sandbox.authorise(source)
    wait_until(lambda: cluster.api.watch(source)["state"] == "closed", 60, "closed")
    assert [event["type"] for event in cluster.api.events(source)] == [
        "source.pending", "payment.authorised", "source.chargeable",
        "payment.paid", "charge.succeeded", "source.consumed",
    ]
    (charge,) = cluster.sandbox._stripe("GET", "/v1/charges")["data"]
    assert charge["amount"] == 1099 and charge["description"] == "Acme"
    assert charge["metadata"] == {"shop": "north", "poller_source": source}
    # A watch can override the account: its source is reported but not charged.
    made = pollerctl(
        cluster, "source", "create", "ideal", "--amount", "1099", "--return-url", "https://shop.example/r",
        "--never-charge", "--policy", "interactive", "--json",
    )
    spared = json.loads(made.stdout.splitlines()[0])["object"]["id"]
    cluster.wait_status(spared, "pending")
    cluster.authorise(spared)
    looks = len(cluster.sandbox.polls(spared))
    wait_until(lambda: len(cluster.sandbox.polls(spared)) >= looks + 2, 60, "polled again")
    assert len(cluster.sandbox._stripe("GET", "/v1/charges")["data"]) == 1
    assert "charge" not in cluster.api.watch(spared)


@pytest.mark.parametrize("account, said", [
    ("  acme:\n    charge: true\n", "needs stripe_api_key"),
    ("  default:\n    charge: yes please\n", "true, false or a mapping"),
    ("  default:\n    charge: {amount: 5}\n", "amount"),
    ("  default:\n    charge: {statement_descriptor: " + "x" * 36 + "}\n", "statement_descriptor"),
    ("  acme:\n    stripe_api_key: {env: PUBLIC}\n    charge: true\n", "secret key"),
])
def test_an_invalid_charge_rule_of_an_account_is_rejected_at_startup(tmp_path, account: str, said: str):
    done = check(tmp_path, "accounts:\n" + account)
    assert done.returncode == 78 and said in done.stderr, done.stderr


def test_check_config_shows_which_accounts_charge(tmp_path):
    done = check(tmp_path, "accounts:\n  default:\n    charge: true\n  acme:\n    stripe_api_key: {env: ACME}\n")
    assert done.returncode == 0, done.stderr
    assert "account default, charges sources" in done.stdout
    assert "account acme\n" in done.stdout + "\n"


def check(folder, text: str) -> subprocess.CompletedProcess:
    path = folder / "poller.yaml"
    path.write_text(text)
    return subprocess.run(
        [program("pollerd"), "check-config", "--config", str(path)],
        env={"PATH": os.environ["PATH"], "PUBLIC": "pk_test_1", "ACME": "sk_test_1"},
        capture_output=True, text=True, timeout=60,
    )
