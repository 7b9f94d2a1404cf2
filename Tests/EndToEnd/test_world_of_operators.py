"""Tests real processes with mail relays, receivers, addresses and clients that operators meet."""

import http.client
import json
import re
import socket
import threading
from urllib.parse import quote, urlsplit

import pytest
from harness.cluster import Cluster
from harness.commands import run
from harness.waiting import wait_until
from test_configured import Bank

GREYLISTED = "550 You have been greylisted, try again in 5 minutes"


class Receiver:
    """Answers each request with the same bytes, and keeps or closes the connection as they say. Stores the events."""

    def __init__(self, answer: bytes):
        self._answer = answer
        self.events: list[dict] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            head = b""
            while line := stream.readline():
                head += line
                if line != b"\r\n":
                    continue
                length = int(re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)[1])
                self.events.append(json.loads(stream.read(length)))
                connection.sendall(self._answer)
                head = b""

    def close(self) -> None:
        self._listener.close()


@pytest.fixture(scope="module")
def bank():
    with Bank() as bank:
        yield bank


@pytest.fixture(scope="module")
def world(tmp_path_factory, bank: Bank):
    """Starts a cluster whose upstream has two addresses, ::1 and 127.0.0.1, of which the first refuses."""
    port = urlsplit(bank.url).port
    file = tmp_path_factory.mktemp("config") / "poller.yaml"
    file.write_text(f"""
upstreams:
  till:
    url: http://localhost:{port}/till/{{id}}
    status: /payment/state
    final: [settled]
""")
    env = {
        "POLLER_CONFIG_FILE": str(file), "POLLER_ALLOW_CIDRS": "127.0.0.0/8,::1/128", "POLLER_INCIDENT_HOLD": "1s",
    }
    with Cluster(workers=1, listen=False, env=env) as cluster:
        yield cluster


def has_two_addresses() -> bool:
    found = [address[4][0] for address in socket.getaddrinfo("localhost", 1, type=socket.SOCK_STREAM)]
    return found[:1] == ["::1"] and "127.0.0.1" in found


def attempts(cluster: Cluster, source: str, **query) -> list[dict]:
    """Returns every attempt of every delivery of a watch."""
    found = cluster.api.request("GET", "/v1/deliveries", params={"source": source, **query}).json()["data"]
    return [
        attempt
        for delivery in found
        for attempt in cluster.api.request("GET", f"/v1/deliveries/{delivery['id']}/attempts").json()["data"]
    ]


@pytest.mark.skipif(not has_two_addresses(), reason="localhost has one address on this machine")
def test_a_host_whose_first_address_refuses_is_polled_and_delivered_to(world: Cluster, bank: Bank):
    receiver = Receiver(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
    name = "two-addresses"
    bank.states[name] = "open"
    body = {
        "source": name, "account": "till", "kind": "http", "policy": "interactive",
        "notify": [f"http://localhost:{receiver.port}/hook"],
    }
    assert world.api.request("POST", "/v1/watches", json=body).status_code == 201
    path = f"/v1/watches/{name}?account=till&kind=http"
    wait_until(lambda: world.api.get(path)["status"] == "open", 60, "seen")
    seen = len(bank.seen)
    wait_until(lambda: len(bank.seen) > seen + 3, 60, "some more polls")
    bank.states[name] = "settled"
    wait_until(lambda: world.api.get(path)["state"] == "closed", 60, "closed")
    assert not world.api.get(path).get("last_error")
    wait_until(lambda: len(receiver.events) == 2, 60, "both events")
    made = attempts(world, name, account="till", kind="http")
    assert {attempt["outcome"] for attempt in made} == {"delivered"}, made
    assert {attempt["address"] for attempt in made} == {f"127.0.0.1:{receiver.port}"}
    receiver.close()


ODD_ANSWERS = {
    "folded": (b"HTTP/1.1 200 OK\r\nx-a: a\r\n b\r\ncontent-length: 2\r\n\r\nok", False),
    "two equal lengths": (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok", False),
    "a blank before the colon": (b"HTTP/1.1 200 OK\r\nx-powered-by : PHP\r\ncontent-length: 2\r\n\r\nok", False),
    "two lengths": (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok", True),
    "a length and chunks": (
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", True,
    ),
    "no colon": (b"HTTP/1.1 202 Accepted\r\nhello\r\n\r\n", True),
}


@pytest.mark.parametrize("name", ODD_ANSWERS)
def test_a_receiver_with_an_odd_response_head_gets_each_event_once(world: Cluster, name: str):
    answer, is_broken = ODD_ANSWERS[name]
    receiver = Receiver(answer)
    source = world.follow_new(notify=[f"http://127.0.0.1:{receiver.port}/hook"])
    world.sandbox.set_status(source, "chargeable")
    wait_until(lambda: len(receiver.events) >= 2, 60, "both events")
    made = wait_until(lambda: len(found := attempts(world, source)) >= 2 and found, 60, "two attempts")
    assert {attempt["outcome"] for attempt in made} == {"delivered"}, made
    assert all(("head of the response" in (attempt.get("reason") or "")) == is_broken for attempt in made), made
    seqs = [event["seq"] for event in receiver.events]
    assert seqs == list(range(1, len(seqs) + 1)), seqs
    receiver.close()


def test_a_rejecting_relay_suppresses_no_recipient_and_is_an_incident(world: Cluster):
    world.mail.refusal = GREYLISTED
    source = world.sandbox.create_source()
    recipient = f"customer+{source}@example.com"
    world.enqueue(source, notify=[f"mailto:{recipient}"])
    world.sandbox.set_status(source, "chargeable")

    def delivery() -> dict | None:
        found = world.api.request("GET", "/v1/deliveries", params={"source": source}).json()["data"]
        # During the next attempt it is in flight.
        return found[0] if found and found[0]["state"] == "failing" else None

    tried = wait_until(delivery, 60, "a failed attempt")
    assert "550" in tried["last_error"], tried
    assert not world.api.get(f"/v1/mail/suppressions/{quote(recipient)}")["suppressed"]

    def incident() -> dict | None:
        found = world.api.get("/v1/incidents")["data"]
        return next((one for one in found if one["kind"] == "mail_relay" and one["status"] == "open"), None)

    told = wait_until(incident, 60, "an incident")
    assert "You have been greylisted" in told["message"] and recipient not in told["message"]
    world.mail.refusal = ""


@pytest.mark.parametrize("address, advice", [
    ("j%C3%BCrgen@customer.example", "xn--"),
    ("%22a%20b%22@customer.example", "name@host"),
    ("a%40b@c.example", "name@host"),
    ("payer@customer.example%20", "name@host"),
])
def test_an_address_that_cannot_receive_mail_is_rejected_on_input(world: Cluster, address: str, advice: str):
    url = f"mailto:{address}"
    watch = world.api.enqueue(world.sandbox.create_source(), notify=[url])
    endpoint = world.api.request("POST", "/v1/endpoints", json={"url": url})
    for answer, field in ((watch, "notify[0]"), (endpoint, "url")):
        assert answer.status_code == 422, answer.text
        assert answer.json()["field"] == field and advice in answer.json()["detail"], answer.text
    typed = run("pollerctl", "enqueue", world.sandbox.create_source(), "--notify", url, env={"POLLER_URL": world.api.url})
    assert typed.returncode != 0 and advice in typed.stderr


def raw(url: str, request: str, body: bytes = b"") -> bytes:
    """Returns a server's response until it closes the connection."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        connection.sendall(request.encode() + b"\r\n" + body)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


def listeners(cluster: Cluster) -> dict[str, str]:
    return {
        "api": cluster.api_process.address("api"), "admin": cluster.api_process.address("admin"),
        "gateway": cluster.gateway(),
    }


@pytest.mark.parametrize("listener, path", [
    ("admin", "/livez"), ("admin", "/readyz"), ("admin", "/metrics"), ("api", "/"), ("api", "/openapi.json"),
    ("api", "/v1/stats"), ("api", "/v1/watches?limit=100"), ("api", "/nowhere"), ("gateway", "/nowhere"),
    ("gateway", "/v1/stream"),
])
def test_every_listener_answers_head_and_http_1_0(world: Cluster, listener: str, path: str):
    url = listeners(world)[listener]
    host = f"Host: {urlsplit(url).netloc}\r\n"
    got = raw(url, f"GET {path} HTTP/1.1\r\n{host}Connection: close\r\n")
    head = raw(url, f"HEAD {path} HTTP/1.1\r\n{host}Connection: close\r\n")
    assert head.split(b" ")[1] == got.split(b" ")[1]
    assert head.endswith(b"\r\n\r\n") and head.count(b"\r\n\r\n") == 1, head[-100:]
    old = raw(url, f"GET {path} HTTP/1.0\r\n{host}")
    fields, body = old.split(b"\r\n\r\n", 1)
    assert old.split(b" ")[1] == got.split(b" ")[1] and b"transfer-encoding" not in fields.lower()
    assert body, old


@pytest.mark.parametrize("listener", ["api", "gateway"])
def test_expect_100_continue_is_confirmed_or_rejected_at_once(world: Cluster, listener: str):
    parts = urlsplit(listeners(world)[listener])
    body = json.dumps({"source": world.sandbox.create_source()}).encode()
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        connection.sendall(
            f"POST /v1/watches HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n".encode()
        )
        answer = connection.recv(65536)
        if listener == "gateway":
            assert answer.startswith(b"HTTP/1.1 404 "), answer
            return
        assert answer == b"HTTP/1.1 100 Continue\r\n\r\n", answer
        connection.sendall(body)
        reader = http.client.HTTPResponse(connection)
        reader.begin()
        assert reader.status == 201
