"""Tests receivers, upstreams and the mail relay with certificates of an operator's own authority."""

import json
import ssl
from pathlib import Path

import pytest
from harness.cluster import Cluster
from harness.commands import run
from harness.http_server import HTTPServer, Request
from harness.mail_sink import MailSink
from harness.waiting import wait_until
from test_tls import authority, signed


class House(HTTPServer):
    """A bank's API and a shop's webhook receiver on one port, over TLS."""

    # A client that rejects the certificate closes the connection.
    ignores_errors = True

    def __init__(self, tls: ssl.SSLContext):
        self.state = "open"
        self.posted: list[str] = []
        super().__init__(tls=tls)

    def answer(self, request: Request, body: bytes) -> tuple:
        if request.command == "GET":
            return 200, {"state": self.state}
        self.posted.append(body.decode())
        return (204,)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Yields an authority, and a server and a relay with certificates that it has signed."""
    folder: Path = tmp_path_factory.mktemp("authority")
    root = authority(folder, "root")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*map(str, signed(root, "house")))
    house, relay = House(tls), MailSink(tls=tls)
    config = folder / "poller.yaml"
    config.write_text(f"upstreams: {{bank: {{url: '{house.url}/p/{{id}}', status: /state, final: [settled], rate: 1000,"
                      " payment: {state: {map: {settled: paid}}, currency: eur}}}\n")
    yield root, house, relay, config
    house.close()
    relay.close()


@pytest.mark.parametrize("variable", ["POLLER_CA_FILE", "SSL_CERT_FILE"])
def test_a_configured_authority_is_trusted_everywhere(chaos, own, variable: str):
    root, house, relay, config = own
    house.state, house.posted = "open", []
    cluster: Cluster = chaos(workers=1, listen=False, env={
        "POLLER_CONFIG_FILE": str(config), variable: str(root), "POLLER_SMTP_URL": relay.url,
    })
    customer = f"{variable.lower()}@example.com"
    notify = [f"{house.url}/h", f"mailto:{customer}"]
    answer = cluster.api.enqueue("pay-1", account="bank", kind="http", policy="interactive", notify=notify)
    assert answer.status_code == 201, answer.text
    path = "/v1/watches/pay-1?account=bank&kind=http"
    wait_until(lambda: cluster.api.get(path)["status"] == "open", 60, "it is polled")
    house.state = "settled"
    wait_until(lambda: any("http.settled" in body for body in house.posted), 60, "the receiver has the event")
    wait_until(lambda: [mail for mail in relay.messages if mail["To"] == customer], 60, "the payer is mailed")


def test_without_the_authority_certificates_are_rejected_and_no_path_is_revealed(chaos, own):
    root, house, relay, config = own
    house.state, house.posted = "open", []
    cluster: Cluster = chaos(workers=1, listen=False, env={
        "POLLER_CONFIG_FILE": str(config), "POLLER_SMTP_URL": relay.url, "SSL_CERT_FILE": "",
    })
    notify = [f"{house.url}/h"]
    answer = cluster.api.enqueue("pay-1", account="bank", kind="http", policy="interactive", notify=notify)
    assert answer.status_code == 201, answer.text
    path = "/v1/watches/pay-1?account=bank&kind=http"
    error = wait_until(lambda: cluster.api.get(path).get("last_error"), 60, "the poll has failed")
    assert "CERTIFICATE_VERIFY_FAILED" in json.dumps(error)
    endpoint = cluster.api.request("POST", "/v1/endpoints", json={"url": f"{house.url}/h"}).json()
    tried = cluster.api.request("POST", f"/v1/endpoints/{endpoint['id']}/test").json()
    assert tried["class"] == "tls", tried
    told = json.dumps([error, tried]) + "".join(process.stderr() for process in cluster.workers + cluster.notifiers)
    assert ".cc:" not in told and "swift-nio-ssl" not in told
    assert house.posted == []


@pytest.mark.parametrize("text", [None, "no certificate\n"])
def test_a_file_without_certificates_is_rejected(tmp_path: Path, text: str | None):
    path = tmp_path / "ca.pem"
    if text:
        path.write_text(text)
    done = run("pollerd", "check-config", env={"POLLER_CA_FILE": str(path)})
    assert done.returncode == 78 and "POLLER_CA_FILE" in done.stderr, done.stderr
    assert str(path) in done.stderr
