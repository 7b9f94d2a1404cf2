"""Tests that the API answers hostile input with clear errors, without a crash or a partial change."""

import json
import select
import socket
from pathlib import Path

import pytest

from harness.cluster import Cluster, Role, program
from harness.waiting import wait_until

LONG = "src_" + "a" * 252
SEVENTEEN = [f"https://h{n}.example" for n in range(17)]

# The request bodies, and the field that the problem must name.
BODIES = [
    ("an empty id", {"source": ""}, "source"),
    ("an id with NUL", {"source": "src_\u0000"}, "source"),
    ("an id with a newline", {"source": "src_1\nSet-Cookie: a=b"}, "source"),
    ("an id that climbs", {"source": "../../etc/passwd"}, "source"),
    ("an id with a slash", {"source": "src_1/../charges"}, "source"),
    ("an id with a query", {"source": "src_1?expand[]=x"}, "source"),
    ("an id that is too long", {"source": LONG}, "source"),
    ("an id that is a number", {"source": 7}, "source"),
    ("an id of no known kind", {"source": "foo_1"}, "kind"),
    ("no id", {}, "source"),
    ("an unknown key", {"source": "src_1", "polizy": "standard"}, "polizy"),
    ("an unknown policy", {"source": "src_1", "policy": "hourly"}, "policy"),
    ("a negative timeout", {"source": "src_1", "timeout": "-5s"}, "timeout"),
    ("a timeout of nothing", {"source": "src_1", "timeout": "0s"}, "timeout"),
    ("a timeout of a century", {"source": "src_1", "timeout": "99999999h"}, "timeout"),
    ("a timeout that overflows", {"source": "src_1", "timeout": "9223372036854775807d"}, "timeout"),
    ("a timeout without a unit", {"source": "src_1", "timeout": "90"}, "timeout"),
    ("a timeout that is a list", {"source": "src_1", "timeout": [1]}, "timeout"),
    ("a notify that is no URL", {"source": "src_1", "notify": ["nowhere"]}, "notify"),
    ("a notify by file", {"source": "src_1", "notify": ["file:///etc/passwd"]}, "notify"),
    ("a notify with a password", {"source": "src_1", "notify": ["https://u:p@h/"]}, "notify"),
    ("a mail to two", {"source": "src_1", "notify": ["mailto:a@b.c\r\nRCPT TO:<d@e.f>"]}, "notify"),
    ("a mail with a header", {"source": "src_1", "notify": ["mailto:a@b.c?bcc=d@e.f"]}, "notify"),
    ("too many endpoints", {"source": "src_1", "notify": SEVENTEEN}, "notify"),
    ("metadata beyond its limit", {"source": "src_1", "metadata": {"k": "v" * 5000}}, "metadata"),
    ("metadata that is text", {"source": "src_1", "metadata": "k=v"}, "metadata"),
    ("an account with a slash", {"source": "src_1", "account": "a/b"}, "account"),
]

RAW = [
    ("no JSON", b"source=src_1"),
    ("half of JSON", b'{"source": "src_1"'),
    ("nothing", b""),
    ("a key twice", b'{"source": "src_1", "source": "src_2"}'),
    ("bytes that are no UTF-8", b'{"source": "src_\xff\xfe"}'),
    ("half a surrogate", b'{"source": "src_\\ud800"}'),
    ("a raw NUL", b'{"source": "src_1\x00"}'),
    ("two values", b'{"source": "src_1"} {"source": "src_2"}'),
    ("sixty thousand brackets", b"[" * 60_000),
    ("a number", b"1e999999"),
    ("null", b"null"),
]


def assert_problem(response, statuses=(400, 422), names: str | None = None) -> dict:
    """Checks for an RFC 9457 problem that describes the error, and returns it."""
    assert response.status_code in statuses, f"{response.status_code} {response.text[:300]}"
    assert response.headers["content-type"].startswith("application/problem+json")
    problem = response.json()
    assert problem["status"] == response.status_code
    assert problem["code"] and problem["title"]
    if names:
        assert names in json.dumps(problem), problem
    return problem


@pytest.fixture
def unchanged(calm: Cluster):
    """Checks that no refused request has created a watch."""
    before = len(calm.api.watches())
    yield calm
    assert len(calm.api.watches()) == before
    assert calm.api_process.admin("/readyz").status_code == 200


@pytest.mark.parametrize("body, names", [case[1:] for case in BODIES], ids=[c[0] for c in BODIES])
def test_a_wrong_field_is_named(unchanged: Cluster, body: dict, names: str):
    response = unchanged.api.request("POST", "/v1/watches", json=body)
    assert_problem(response, names=names)


@pytest.mark.parametrize("body", [case[1] for case in RAW], ids=[case[0] for case in RAW])
def test_a_body_that_is_not_a_watch_is_rejected(unchanged: Cluster, body: bytes):
    response = unchanged.api.request(
        "POST", "/v1/watches", data=body, headers={"Content-Type": "application/json"}
    )
    assert_problem(response)


def test_a_body_of_ten_megabytes_is_rejected(unchanged: Cluster):
    body = b'{"source": "src_1", "metadata": {"k": "' + b"v" * 10_000_000 + b'"}}'
    address = unchanged.api.url.removeprefix("http://").rsplit(":", 1)
    # Sent over a plain socket, because the server may respond and close before it has read the body.
    with socket.create_connection((address[0], int(address[1])), timeout=60) as client:
        head = (
            f"POST /v1/watches HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        try:
            client.sendall(head.encode() + body)
        except OSError:
            pass
        try:
            answer = client.recv(65536).decode(errors="replace")
        except ConnectionResetError:
            answer = ""
    # A connection reset may discard the response, but it must never be a success.
    assert answer == "" or " 413 " in answer.splitlines()[0], answer[:200]


def test_an_endless_chunked_body_is_cut_at_the_limit(unchanged: Cluster):
    def chunks():
        yield b'{"source": "src_1", "metadata": {"k": "'
        for _ in range(160):
            yield b"v" * 65_536

    try:
        response = unchanged.api.request(
            "POST", "/v1/watches", data=chunks(), headers={"Content-Type": "application/json"}
        )
    except OSError:
        return  # The server closed the connection early, which is a refusal too; `unchanged` checks the rest.
    assert_problem(response, statuses=(413,))


def test_one_invalid_item_rejects_the_whole_batch(unchanged: Cluster):
    batch = [{"source": f"src_batch{n}"} for n in range(50)] + [{"source": "src_\n"}]
    response = unchanged.api.request("POST", "/v1/watches/batch", json=batch)
    assert_problem(response)


def test_paths_and_queries_are_checked_too(unchanged: Cluster):
    for path in (
        "/v1/watches/src_%00",
        "/v1/watches/src_1%0d%0aX: y",
        "/v1/watches/" + LONG,
        "/v1/watches?cursor=%ff%00",
        "/v1/watches?limit=-1",
        "/v1/watches?limit=99999999999999999999",
        "/v1/watches?state=sleepy",
        "/v1/watches?unknown=1",
        "/v1/events?cursor=../..",
        "/v1/watches/src_1?wait=9999h",
        "/v1/watches/src_1?after_seq=minus",
    ):
        assert_problem(unchanged.api.request("GET", path), statuses=(400, 404, 422))


def test_unknown_routes_and_methods_are_problems_too(unchanged: Cluster):
    assert_problem(unchanged.api.request("GET", "/v2/watches"), statuses=(404,))
    assert_problem(unchanged.api.request("PATCH", "/v1/watches"), statuses=(405,))
    assert_problem(unchanged.api.request("GET", "/v1/watches/src_nobody"), statuses=(404,))


def test_a_page_in_a_browser_cannot_use_a_keyless_api(unchanged: Cluster):
    """Simulates DNS rebinding: the browser connects to 127.0.0.1 with a foreign host name."""
    response = unchanged.api.request(
        "POST", "/v1/watches", json={"source": "src_1"}, headers={"Host": "evil.example"}
    )
    assert_problem(response, statuses=(403,))


def test_an_incomplete_request_does_not_delay_others(unchanged: Cluster):
    address = unchanged.api.url.removeprefix("http://").rsplit(":", 1)
    opened = []
    try:
        for _ in range(100):
            client = socket.create_connection((address[0], int(address[1])), timeout=30)
            head = b"POST /v1/watches HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999\r\n\r\n"
            client.sendall(head + b"{")
            opened.append(client)
        assert unchanged.api.request("GET", "/v1/stats", timeout=10).ok
    finally:
        for client in opened:
            client.close()


def test_connections_per_address_are_limited_at_each_listener(tmp_path: Path):
    env = {f"POLLER_{name}_BIND": "127.0.0.1:0" for name in ("API", "GATEWAY", "ADMIN")}
    env["POLLER_CONNECTIONS_PER_ADDRESS"] = "5"
    role = Role("pollerd", [program("pollerd"), "all", "--embedded"], tmp_path, env).start()
    try:
        role.wait_ready()
        for listener in ("api", "gateway", "admin"):
            address = role.address(listener).removeprefix("http://").rsplit(":", 1)
            where = (address[0], int(address[1]))
            opened = [socket.create_connection(where, timeout=30) for _ in range(6)]
            # The connections are set up concurrently, so any one of them may be the excess one.
            refused = select.select(opened, [], [], 10)[0]
            assert len(refused) == 1, listener
            opened.remove(refused[0])
            refused[0].close()
            assert answer_of(where) == b"", listener
            opened.pop().close()
            wait_until(lambda: b"HTTP/1.1" in answer_of(where), 60, f"a place at {listener}")
            for client in opened:
                client.close()
    finally:
        role.end()
    assert "limit of one address reached" in role.stderr()


def answer_of(where: tuple[str, int]) -> bytes:
    """Returns the first bytes of the response to a request; empty if the connection is closed."""
    with socket.create_connection(where, timeout=30) as client:
        try:
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            return client.recv(4096)
        except ConnectionError:
            return b""
