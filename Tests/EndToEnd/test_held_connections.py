"""Tests that idle connections and malformed requests are answered or closed within a bounded time."""

import select
import socket
import time

import pytest
import requests
from harness.cluster import Cluster

KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
WEBSOCKET = ["Upgrade: websocket", "Connection: Upgrade", KEY, "Sec-WebSocket-Version: 13"]
# The time limit for a request head, plus a margin for a busy machine.
HEAD_S = {"gateway": 10, "api": 15, "admin": 15}
ROOM_S = 30

ODD = {
    "another protocol": (["Upgrade: foo", *WEBSOCKET[1:]], 426),
    "h2c": (["Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABk"], 426),
    "no key": (["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"], 400),
    "version 99": ([*WEBSOCKET[:3], "Sec-WebSocket-Version: 99"], 426),
    "no version": (WEBSOCKET[:3], 426),
    "no connection": ([WEBSOCKET[0], *WEBSOCKET[2:]], 400),
    "a body": ([*WEBSOCKET, "Content-Length: 10"], 400),
}


def where(url: str) -> tuple[str, int]:
    host, port = url.split("//")[1].rsplit(":", 1)
    return host, int(port)


def listeners(cluster: Cluster) -> dict[str, tuple[str, int]]:
    role = cluster.api_process
    return {"gateway": where(cluster.gateway()), "api": where(role.address("api")), "admin": where(role.address("admin"))}


def request(lines: list[str], line: str = "GET /v1/stream HTTP/1.1", host: str = "Host: 127.0.0.1") -> bytes:
    return "".join(f"{text}\r\n" for text in [line, host, *lines, ""]).encode()


def until_closed(client: socket.socket, limit_s: float) -> bytes:
    """Returns all data until the server closes the connection; fails if it does not close in time."""
    end = time.monotonic() + limit_s
    told = b""
    while True:
        client.settimeout(max(end - time.monotonic(), 0.001))
        try:
            part = client.recv(65536)
        except ConnectionError:
            return told
        except TimeoutError:
            raise AssertionError(f"still open after {limit_s} s: {told!r}") from None
        if not part:
            return told
        told += part


@pytest.mark.parametrize("name", ODD)
def test_an_invalid_handshake_is_answered_and_closed(calm: Cluster, name: str):
    lines, status = ODD[name]
    with socket.create_connection(where(calm.gateway()), timeout=30) as client:
        client.sendall(request(lines))
        # Earlier than a connection without a request is closed.
        told = until_closed(client, HEAD_S["gateway"] - 1)
    assert told.startswith(f"HTTP/1.1 {status} ".encode()), told
    if status == 426:
        assert b"\r\nupgrade: websocket\r\n" in told.lower()
        assert b"\r\nsec-websocket-version: 13\r\n" in told.lower()


def test_a_connection_without_a_complete_request_is_closed_at_every_listener(calm: Cluster):
    began = time.monotonic()
    held: dict[socket.socket, tuple[str, str]] = {}
    for listener, address in listeners(calm).items():
        for kind in ("silent", "half a head", "byte by byte"):
            client = socket.create_connection(address, timeout=30)
            if kind != "silent":
                client.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
            held[client] = (listener, kind)
    closed: dict[tuple[str, str], float] = {}
    while held and time.monotonic() - began < max(HEAD_S.values()) + ROOM_S:
        for client in select.select(list(held), [], [], 0.5)[0]:
            try:
                assert client.recv(100) == b"", held[client]
            except ConnectionError:
                pass
            closed[held.pop(client)] = time.monotonic() - began
            client.close()
        for client, (_, kind) in held.items():
            if kind == "byte by byte":
                try:
                    client.sendall(b"a")
                except OSError:
                    pass  # The connection is closed, which the next select reports.
    assert not held, sorted(held.values())
    for (listener, kind), after in closed.items():
        assert after >= HEAD_S[listener] - 1, f"{listener} {kind}: {after}"


def test_idle_connections_do_not_block_others(calm: Cluster):
    held = []
    try:
        for listener, address in listeners(calm).items():
            for number in range(150):
                client = socket.create_connection(address, timeout=30)
                held.append(client)
                if number % 3 == 1:
                    client.sendall(request(["Upgrade: foo", "Connection: Upgrade"]))
                elif number % 3 == 2:
                    client.sendall(b"GET /v1/stream HTTP/1.1\r\n")
            url = "http://{}:{}".format(*address)
            path = {"gateway": "/v1/stream", "api": "/v1/stats", "admin": "/livez"}[listener]
            status = requests.get(url + path, timeout=30).status_code
            assert status == (426 if listener == "gateway" else 200)
            # The response did not wait until the others were closed.
            assert not select.select([held[-3]], [], [], 0)[0], listener
        # Each invalid handshake was answered, although the client did not read.
        odd = [client for number, client in enumerate(held[:150]) if number % 3 == 1]
        for client in odd:
            assert until_closed(client, 30).startswith(b"HTTP/1.1 426 ")
    finally:
        for client in held:
            client.close()


@pytest.mark.parametrize("listener", HEAD_S)
@pytest.mark.parametrize(
    "hosts", [(), ("a", "a"), ("127.0.0.1", "evil.example"), ("a b",), ("",)], ids=["none", "two", "another", "a space", "empty"]
)
def test_a_request_must_have_exactly_one_host(calm: Cluster, listener: str, hosts: tuple[str, ...]):
    path = {"gateway": "/v1/stream", "api": "/v1/stats", "admin": "/livez"}[listener]
    with socket.create_connection(listeners(calm)[listener], timeout=30) as client:
        head = "".join(f"{text}\r\n" for text in [f"GET {path} HTTP/1.1", *[f"Host: {host}" for host in hosts], ""])
        client.sendall(head.encode())
        assert client.recv(4096).startswith(b"HTTP/1.1 400 ")


def test_http_1_0_needs_no_host(calm: Cluster):
    with socket.create_connection(listeners(calm)["admin"], timeout=30) as client:
        client.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_a_client_that_does_not_read_is_disconnected(calm: Cluster):
    """Sends requests that are answered until the socket buffer is full.

    Half a minute later the server must disconnect the client.
    """
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(listeners(calm)["api"])
        client.settimeout(1)
        ask = request([], "GET /openapi.json HTTP/1.1")
        end = time.monotonic() + 30 + ROOM_S * 2
        while time.monotonic() < end:
            try:
                client.sendall(ask * 50)
            except TimeoutError:
                continue
            except ConnectionError:
                return
        raise AssertionError("the connection of a client that does not read is still open")
