"""What one client may take of a server, so that others do not notice it."""

import http.client
import resource
import socket
import statistics
import threading
import time
from pathlib import Path

import pytest
from harness.cluster import Cluster
from harness.poller_api import PollerAPI

# How long the quiet key waits is measured.
pytestmark = pytest.mark.alone

FLOOD = "key_of_flood_0123456789"
QUIET = "key_of_quiet_0123456789"
RATE = 50


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """A server whose keys may make fifty requests a second, and that may hold ten thousand sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    keys: Path = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(f"{FLOOD} name=flood\n{QUIET} name=quiet\n")
    env = {"POLLER_API_KEYS_FILE": str(keys), "POLLER_REQUESTS_PER_KEY": str(RATE), "POLLER_LOG_LEVEL": "info"}
    try:
        with Cluster(workers=0, notifiers=0, listen=False, env=env) as cluster:
            cluster.api = PollerAPI(cluster.api.url, QUIET)
            yield cluster
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def port(cluster: Cluster) -> int:
    return int(cluster.api_process.address("api").rsplit(":", 1)[1])


def asks(cluster: Cluster, key: str, seconds: float, pause: float, answers: list) -> None:
    """Asks one thing again and again on one connection; notes statuses, headers and spans."""
    connection = http.client.HTTPConnection("127.0.0.1", port(cluster), timeout=30)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        connection.request("GET", "/v1/watches?limit=1", headers={"Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        body = answer.read()
        answers.append((answer.status, answer.headers.get("Retry-After"), time.monotonic() - began, body))
        time.sleep(pause)
    connection.close()


def p99(spans: list[float]) -> float:
    return statistics.quantiles(spans, n=100)[98]


def test_a_flood_of_one_key_is_held_and_another_key_does_not_notice(limited: Cluster):
    alone: list = []
    asks(limited, QUIET, 4, 0.03, alone)
    flooded: list[list] = [[] for _ in range(4)]
    threads = [threading.Thread(target=asks, args=(limited, FLOOD, 6, 0, mine)) for mine in flooded]
    for thread in threads:
        thread.start()
    beside: list = []
    asks(limited, QUIET, 5, 0.03, beside)
    for thread in threads:
        thread.join()
    told = [answer for mine in flooded for answer in mine]
    let_in = [answer for answer in told if answer[0] == 200]
    refused = [answer for answer in told if answer[0] == 429]
    assert len(let_in) + len(refused) == len(told) and len(refused) > len(let_in)
    # Twice the rate at once, then the rate.
    assert len(let_in) <= RATE * (2 + 6.5), len(let_in)
    assert all(int(wait) >= 1 for _, wait, _, _ in refused) and b'"too_many_requests"' in refused[0][3]
    assert {status for status, _, _, _ in beside} == {200}
    before, after = p99([span for _, _, span, _ in alone]), p99([span for _, _, span, _ in beside])
    print(f"p99 alone {before * 1000:.1f} ms, beside {len(told) / 6:.0f} requests/s {after * 1000:.1f} ms")
    # Clients, server and store share two cores, and so do the clients' threads one interpreter.
    assert after < max(10 * before, 0.5)


def test_clients_that_never_finish_a_head_are_ended_and_others_served(limited: Cluster):
    sockets = [socket.create_connection(("127.0.0.1", port(limited)), timeout=5) for _ in range(200)]
    began = time.monotonic()
    for each in sockets:
        each.sendall(b"GET /v1/watches HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")
        each.setblocking(False)
    open_ones = set(sockets)
    while open_ones and time.monotonic() - began < 25:
        for each in list(open_ones):
            try:
                each.send(b"a")
                if each.recv(1) == b"":
                    open_ones.discard(each)
            except BlockingIOError:
                pass
            except OSError:
                open_ones.discard(each)
        assert limited.api.request("GET", "/v1/watches?limit=1").status_code == 200
        time.sleep(1)
    assert not open_ones and 10 < time.monotonic() - began < 25


def test_ten_thousand_connections_that_say_nothing_cost_no_answer(limited: Cluster):
    count = 9_900
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 500:
        pytest.skip(f"{hard} files may be open here")
    idle = []
    try:
        for _ in range(count):
            idle.append(socket.create_connection(("127.0.0.1", port(limited)), timeout=10))
        spans = []
        for _ in range(50):
            began = time.monotonic()
            assert limited.api.request("GET", "/v1/watches?limit=1").status_code == 200
            spans.append(time.monotonic() - began)
            time.sleep(0.03)
        print(f"p99 beside {count} connections {p99(spans) * 1000:.1f} ms")
        assert p99(spans) < 3, "a busy machine takes its time, a server without sockets for ever"
    finally:
        for each in idle:
            each.close()
