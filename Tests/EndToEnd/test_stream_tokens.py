"""Tests short-lived stream tokens: the API creates them, and the gateway accepts them as a browser sends them."""

import base64
import hashlib
import hmac
import json
from pathlib import Path

import pytest
import requests
import websockets.sync.client
from harness.cluster import Cluster
from harness.poller_api import PollerAPI
from harness.waiting import wait_until
from websockets.exceptions import ConnectionClosed, InvalidStatus

KEY = "key_0123456789abcdef0123"
ORIGIN = "https://shop.example"
# A public key, which an attacker tries as the HMAC secret.
PUBLIC_KEY = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n"


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """Starts a cluster that admits callers with a key, and pages of one shop."""
    keys: Path = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(KEY + "\n")
    env = {"POLLER_API_KEYS_FILE": str(keys), "POLLER_ALLOW_ORIGINS": ORIGIN}
    with Cluster(workers=1, listen=False, env=env) as cluster:
        cluster.api = PollerAPI(cluster.api.url, KEY)
        yield cluster


def make(cluster: Cluster, **scope) -> str:
    answer = cluster.api.request("POST", "/v1/stream_tokens", json=scope)
    assert answer.status_code == 201, answer.text
    return answer.json()["token"]


def browser(cluster: Cluster, token: str | None = None, origin: str = ORIGIN):
    """Opens a WebSocket as a page does: it sends its origin and can add only subprotocols."""
    offered = ["poller.v1.json"] + ([f"poller.token.{token}"] if token else [])
    return websockets.sync.client.connect(
        cluster.gateway().replace("http://", "ws://") + "/v1/stream",
        origin=origin, subprotocols=offered, proxy=None, open_timeout=30,
    )


def until(socket, op: str) -> dict:
    while True:
        frame = json.loads(socket.recv(timeout=60))
        if frame["op"] == op:
            return frame


def refusal(cluster: Cluster, token: str) -> int:
    """Returns the code with which the gateway closes a connection that presents this token."""
    with browser(cluster) as socket:
        socket.send(json.dumps({"op": "auth", "token": token}))
        try:
            while True:
                assert json.loads(socket.recv(timeout=30))["op"] != "hello", "it was let in"
        except ConnectionClosed as end:
            return end.rcvd.code


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def forged(token: str, header: dict, secret: str | None) -> str:
    """Returns the claims of a valid token with another header and signature."""
    text = f"{encode(json.dumps(header).encode())}.{token.split('.')[1]}"
    if secret is None:
        return text + "."
    return f"{text}.{encode(hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest())}"


def test_a_page_receives_only_events_granted_by_its_token(closed: Cluster):
    source, other = closed.sandbox.create_sources(2)
    for name in (source, other):
        closed.follow(name, notify=[])
    token = make(closed, sources=[source], types=["source.*"], ttl="10m")
    with browser(closed, token) as socket:
        assert socket.subprotocol == "poller.v1.json"
        until(socket, "hello")
        socket.send(json.dumps({"op": "subscribe", "ref": 1, "sources": [other]}))
        assert until(socket, "error")["ref"] == 1
        socket.send(json.dumps({"op": "subscribe", "ref": 2, "from": "now"}))
        until(socket, "caught_up")
        for name in (other, source):
            closed.set_status(name, "chargeable")
        event = until(socket, "event")["event"]
    assert event["source"] == source and event["status"] == "chargeable"
    assert "account" not in event, "the account is hidden from a customer"
    logs = "".join(notifier.stderr() for notifier in closed.notifiers) + closed.api_process.stderr()
    assert token not in logs


@pytest.mark.parametrize("kind", ["source", "payment_intent"])
def test_a_payer_can_use_the_client_secret_even_if_the_shop_sent_none(closed: Cluster, kind: str):
    if kind == "source":
        form = {"type": "ideal", "amount": 1099, "currency": "eur", "redirect[return_url]": "http://127.0.0.1/r"}
        made = closed.sandbox._stripe("POST", "/v1/sources", form)
        end = ["payment.authorised", "source.chargeable", "payment.paid", "source.consumed"]
    else:
        form = {"amount": 1099, "currency": "eur", "payment_method_types[]": "ideal", "confirm": "true",
                "payment_method_data[type]": "ideal", "return_url": "http://127.0.0.1/r"}
        made = closed.sandbox._stripe("POST", "/v1/payment_intents", form)
        end = ["payment.paid", "payment_intent.succeeded"]
    shown = {"op": "auth", "source": made["id"], "client_secret": made["client_secret"]}

    def refused(message: dict) -> int:
        with browser(closed) as socket:
            socket.send(json.dumps(message))
            with pytest.raises(ConnectionClosed) as gone:
                until(socket, "hello")
        return gone.value.rcvd.code

    assert refused(shown) == 4003, "the source is not watched"
    closed.enqueue(made["id"], notify=[], charge=kind == "source")
    closed.wait_status(made["id"], made["status"])
    for wrong in ("", made["client_secret"][:-1], made["client_secret"] + "x", "redacted"):
        assert refused(shown | {"client_secret": wrong}) == 4003, wrong
    with browser(closed) as socket:
        socket.send(json.dumps(shown))
        until(socket, "hello")
        socket.send(json.dumps({"op": "subscribe", "ref": 1, "from": "now"}))
        until(socket, "caught_up")
        if kind == "source":
            closed.sandbox.authorise(made["id"])
        else:
            requests.post(f"{closed.sandbox.url}/redirect/{made['id']}/authorize", allow_redirects=False, timeout=30)
        told = []
        with pytest.raises(ConnectionClosed) as over:
            while True:
                told.append(until(socket, "event")["event"])
    # The connection is closed, because no further event can follow for this secret.
    assert over.value.rcvd.code == 4200
    assert [event["type"] for event in told if not event["type"].startswith("charge.")] == end
    assert told[-1]["payment"]["state"] == "paid"
    for event in told:
        assert "account" not in event and "metadata" not in event and event["source"] == made["id"]
    assert made["client_secret"] not in json.dumps(told)
    # The event stream accepts a token of the shop and sends the same events.
    token = make(closed, sources=[made["id"]])
    way = f"{closed.gateway()}/v1/sources/{made['id']}/events?after_seq={told[0]['seq'] - 1}"
    with requests.get(way, headers={"Authorization": f"Bearer {token}"}, timeout=30, stream=True) as stream:
        lines = list(stream.iter_lines(decode_unicode=True))
    heard = [json.loads(line[6:]) for line in lines if line.startswith("data: ") and '"seq"' in line]
    assert [event["type"] for event in heard if event.get("type")] == [event["type"] for event in told]


def test_a_page_of_another_origin_is_rejected(closed: Cluster):
    with pytest.raises(InvalidStatus) as refused:
        browser(closed, make(closed), origin="https://evil.example")
    assert refused.value.response.status_code == 403
    problem = json.loads(refused.value.response.body)
    assert problem["code"] == "origin_not_allowed" and "POLLER_ALLOW_ORIGINS" in problem["detail"]


def test_the_gateways_own_address_is_an_allowed_origin(closed: Cluster):
    """Python's websocket-client sends this origin unless it is configured otherwise."""
    with browser(closed, make(closed), origin=closed.gateway()) as socket:
        assert until(socket, "hello")
    with pytest.raises(InvalidStatus):
        browser(closed, make(closed), origin=closed.gateway().rsplit(":", 1)[0] + ":9")


def test_regression_11_a_foreign_token_is_rejected(closed: Cluster):
    """Regression 11 (mercure#1298): JWT algorithm confusion."""
    token = make(closed)
    ours = json.loads(base64.urlsafe_b64decode(token.split(".")[0] + "=="))
    bad = {
        "alg none": forged(token, {"alg": "none", "typ": "JWT"}, None),
        "alg none under our kid": forged(token, ours | {"alg": "none"}, None),
        "HS256 with a public key": forged(token, ours, PUBLIC_KEY),
        "a foreign cluster's": forged(token, ours, "another cluster's secret"),
        "kid traversal": forged(token, ours | {"kid": "../../dev/null"}, ""),
        "oversized": token + "A" * 13_000,
        "half a token": token[: len(token) // 2],
        "claims changed": token.replace(token.split(".")[1], encode(b'{"exp":99999999999}')),
    }
    for name, text in bad.items():
        assert refusal(closed, text) == 4003, name
        answer = requests.get(
            f"{closed.gateway()}/v1/events/stream",
            headers={"Authorization": f"Bearer {text}"}, timeout=30, stream=True,
        )
        assert answer.status_code == 401, name
        answer.close()


def test_an_expired_token_closes_its_connection_and_is_rejected(closed: Cluster):
    token = make(closed, ttl="12s")
    with browser(closed, token) as socket:
        until(socket, "hello")
        with pytest.raises(ConnectionClosed) as end:
            until(socket, "never")
    assert end.value.rcvd.code == 4105
    assert wait_until(lambda: refusal(closed, token), 60, "refused") == 4003


def test_only_keys_create_tokens_and_only_short_lived_ones(closed: Cluster):
    stranger = PollerAPI(closed.api.url)
    assert stranger.request("POST", "/v1/stream_tokens", json={}).status_code == 401
    answer = closed.api.request("POST", "/v1/stream_tokens", json={"ttl": "61m"})
    assert answer.status_code == 422 and answer.json()["field"] == "ttl"


def test_a_token_in_a_url_opens_one_stream_at_one_of_two_gateways(closed: Cluster):
    """A logged token cannot be used again, and a reconnecting browser continues."""
    second = closed.role("notifier9", "notifier").start().wait_ready()
    gateways = [closed.gateway(), second.address("gateway")]
    [source] = closed.sandbox.create_sources(1)
    closed.follow(source, notify=[])
    token = make(closed, sources=[source])

    def listen(gateway: str, **headers: str) -> requests.Response:
        way = f"{gateway}/v1/events/stream?token={token}"
        return requests.get(way, headers={"Origin": ORIGIN} | headers, timeout=30, stream=True)

    def last_id(stream: requests.Response) -> str:
        return next(line[4:] for line in stream.iter_lines(decode_unicode=True) if line.startswith("id: "))

    try:
        with listen(gateways[0]) as stream:
            assert stream.status_code == 200
            place = last_id(stream)
        for gateway in gateways:
            logged = listen(gateway)
            assert logged.status_code == 401 and "one connection" in logged.text
            bearer = {"Authorization": f"Bearer {token}"}
            assert requests.get(f"{gateway}/v1/events/stream", headers=bearer, timeout=30).status_code == 401
        assert refusal(closed, token) == 4003
        for gateway in gateways:
            with listen(gateway, **{"Last-Event-ID": place}) as back:
                assert back.status_code == 200
                place = last_id(back)
        [key] = [key for key in closed.redis.client().keys("poller:spent:*")]
        assert 0 < closed.redis.client().pttl(key) <= 600_000
    finally:
        second.terminate()
