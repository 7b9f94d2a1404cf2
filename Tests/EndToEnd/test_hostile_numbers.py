"""Tests that extreme numbers in responses, webhooks and archives end no process and delay no other tenant."""

import json

import pytest
import requests
from harness.cluster import Cluster
from harness.commands import ctl, run
from harness.http_server import HTTPServer, Request
from harness.signed_webhook import signed_webhook
from harness.waiting import wait_until

SECRET = "whsec_hostile_numbers"
# Literals, because Python would write the large numbers differently.
EXTREMES = ["9223372036854775807", "-9223372036854775808", "9007199254740993", "-1", "1e308", "1e400"]


class Upstream(HTTPServer):
    """Answers each GET with the body registered for the last path segment."""

    def __init__(self):
        self.bodies: dict[str, str] = {}
        super().__init__()

    def answer(self, request: Request, _body: bytes) -> tuple:
        body = self.bodies.get(request.path.rsplit("/", 1)[1])
        return 200 if body else 404, (body or "").encode(), {"content-type": "application/json"}


@pytest.fixture(scope="module")
def upstream():
    with Upstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, upstream: Upstream):
    """A cluster with one upstream with a payment mapping and one without."""
    file = tmp_path_factory.mktemp("config") / "poller.yaml"
    file.write_text(f"""
upstreams:
  till:
    url: {upstream.url}/till/{{id}}
    status: /state
    final: [settled]
    payment:
      state: {{map: {{open: awaiting_customer, settled: paid}}}}
      amount: /amount
      currency: /currency
  plain:
    url: {upstream.url}/plain/{{id}}
    status: /state
    final: [settled]
""")
    env = {"POLLER_CONFIG_FILE": str(file), "STRIPE_WEBHOOK_SECRET": SECRET, "POLLER_STRIPE_SWEEP": "off"}
    with Cluster(workers=1, listen=False, env=env) as cluster:
        yield cluster


def watch(cluster: Cluster, upstream: Upstream, account: str, name: str, amount: str, **fields) -> str:
    """Watches a settled payment with this amount until the watch has closed."""
    upstream.bodies[name] = f'{{"state":"settled","amount":{amount},"currency":"eur"}}'
    fields = {"url": f"{upstream.url}/{account}/{name}", "policy": "interactive"} | fields
    answer = cluster.api.request("POST", "/v1/watches", json=fields)
    assert answer.status_code == 201, answer.text
    path = f"/v1/watches/{name}?account={account}&kind=http"
    wait_until(lambda: cluster.api.get(path)["state"] == "closed", 60, f"{name} is closed")
    return path


def works(cluster: Cluster) -> None:
    """Checks that no process was restarted and that another account's webhook is delivered."""
    source = cluster.enqueue_new(notify=[cluster.webhook.url])
    cluster.authorise(source)
    cluster.wait_delivered([source], mail=False)
    for role in [*cluster.apis, *cluster.workers, *cluster.notifiers]:
        assert role.running and role.starts == 1, role.tail()


@pytest.mark.parametrize("amount", EXTREMES)
def test_two_payments_of_one_order_with_an_extreme_sum(cluster: Cluster, upstream: Upstream, amount: str):
    order = f"A{EXTREMES.index(amount)}"
    recipients = [cluster.webhook.url, "mailto:payer@example.com"]
    for number in (1, 2):
        watch(cluster, upstream, "till", f"{order}-{number}", amount, order=order, notify=recipients)
    found = cluster.api.get(f"/v1/orders/{order}?account=till")
    assert 0 <= found["payment"]["amount_received"] <= 2**53, found
    works(cluster)


@pytest.mark.parametrize("amount", EXTREMES)
def test_an_extreme_sum_without_a_payment_is_mailed(cluster: Cluster, upstream: Upstream, amount: str):
    name = f"plain-{EXTREMES.index(amount)}"
    recipient = f"{name}@example.com"
    watch(cluster, upstream, "plain", name, amount, notify=[f"mailto:{recipient}"])
    wait_until(lambda: [mail for mail in cluster.mail.messages if mail["To"] == recipient], 60, "it is mailed")
    works(cluster)


def test_a_signed_mandate_notification_with_extreme_numbers(cluster: Cluster):
    form = {"type": "sepa_debit", "currency": "eur", "sepa_debit[iban]": "DE89370400440532013000",
            "owner[name]": "Jenny Rosen", "mandate[notification_method]": "manual"}
    source = cluster.sandbox._stripe("POST", "/v1/sources", form)
    cluster.enqueue(source["id"], client_secret=source["client_secret"])
    cluster.wait_status(source["id"], "chargeable")
    for number, extreme in enumerate([*EXTREMES, "253402300800"]):
        event = {
            "id": f"evt_extreme_{number}", "object": "event", "type": "source.mandate_notification",
            "created": "EXTREME", "livemode": False, "pending_webhooks": "EXTREME",
            "data": {"object": {
                "id": f"srcmn_extreme_{number}", "object": "source_mandate_notification", "type": "sepa_debit",
                "reason": "debit_initiated", "status": "pending", "amount": "EXTREME", "created": "EXTREME",
                "source": source, "sepa_debit": {"last4": "3000", "creditor_identifier": "TEST"},
            }},
        }
        body = json.dumps(event).replace('"EXTREME"', extreme).encode()
        answer = requests.post(f"{cluster.api.url}/v1/stripe/webhook", data=body, timeout=60,
                               headers=signed_webhook(body, SECRET))
        assert answer.status_code < 500, answer.text
    works(cluster)


@pytest.mark.parametrize("extreme", EXTREMES)
def test_an_archive_with_extreme_numbers_is_restored_and_read(cluster: Cluster, upstream: Upstream, extreme: str):
    name = f"archived-{EXTREMES.index(extreme)}"
    path = watch(cluster, upstream, "till", name, "1099", notify=[cluster.webhook.url])
    (line,) = [line for line in ctl(cluster, "export").splitlines() if f'"source":"{name}"' in line]
    copies = []
    for number, (part, value) in enumerate([
        ('"amount":1099', f'"amount":{extreme}'),
        ('"amount_received":1099', f'"amount_received":{extreme}'),
        ('"seq":', f'"seq":{extreme},"x":'),
        ('"run":', f'"run":{extreme},"x":'),
        ('"attempts":', f'"attempts":{extreme},"x":'),
        ('"memory":"', '"memory":"||a|b|c|1y2p0ij32e8e7|-1y2p0ij32e8e8|o|zzzzzzzzzzzzz|zzzzzzzzzzzzz||zzz","x":"'),
    ]):
        assert part in line, part
        copies.append((f"{name}-{number}", line.replace(part, value).replace(f'"{name}"', f'"{name}-{number}"')))
    for copied, changed in copies:
        answer = cluster.api.request("POST", "/v1/watches/batch/restore", data=changed.encode(),
                                     headers={"Content-Type": "application/x-ndjson"})
        assert answer.status_code < 500, answer.text
        there = path.replace(name, copied)
        for part in ("", "/timeline", "/events"):
            shown = cluster.api.request("GET", there.replace("?", f"{part}?"))
            assert shown.status_code in (200, 404), shown.text
        # A worker polls the watch again.
        cluster.api.request("POST", there.replace("?", "/poll?"))
    found = cluster.api.request("GET", "/v1/watches", params={"q": "amount>=9007199254740990"})
    assert found.status_code == 200, found.text
    works(cluster)


@pytest.mark.parametrize("query", ["?a=1&=&b=2", "?=", "?&&", "?key=&token"])
def test_any_query_of_an_upstream_is_checked(tmp_path, query: str):
    file = tmp_path / "poller.yaml"
    file.write_text(f"""
upstreams:
  till:
    url: "https://bank.example/till/{{id}}{query}"
    status: /state
    final: [settled]
""")
    done = run("pollerd", "check-config", "--config", str(file), env={"STRIPE_API_KEY": "sk_test_1"})
    assert done.returncode in (0, 64, 78), f"{done.returncode}: {done.stderr}"
