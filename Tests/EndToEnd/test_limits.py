"""Tests the limits per key and account, which keep one client from slowing others."""

import http.client
import itertools
import resource
import socket
import statistics
import threading
import time
from pathlib import Path

import pytest
import requests
from harness.cluster import Cluster
from harness.commands import run
from harness.poller_api import PollerAPI
from harness.waiting import wait_until

# Tests that measure the latency of a quiet key are marked `alone`.
FLOOD = "key_of_flood_0123456789"
QUIET = "key_of_quiet_0123456789"
RATE = 50


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """A server with a limit of fifty requests per second per key, and room for ten thousand sockets.

    It starts with the usual soft limit of open files and raises it itself to the hard limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, hard), hard))
    keys: Path = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(f"{FLOOD} name=flood\n{QUIET} name=quiet\n")
    env = {"POLLER_API_KEYS_FILE": str(keys), "POLLER_REQUESTS_PER_KEY": str(RATE), "POLLER_LOG_LEVEL": "info"}
    try:
        with Cluster(workers=0, notifiers=0, listen=False, env=env) as cluster:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            cluster.api = PollerAPI(cluster.api.url, QUIET)
            yield cluster
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def port(cluster: Cluster) -> int:
    return int(cluster.api_process.address("api").rsplit(":", 1)[1])


def asks(cluster: Cluster, key: str, seconds: float, pause: float, answers: list) -> None:
    """Sends the same request repeatedly on one connection; records status, `Retry-After`, duration and body."""
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


@pytest.mark.alone
def test_a_flood_with_one_key_is_limited_and_does_not_slow_another_key(limited: Cluster):
    alone: list = []
    asks(limited, QUIET, 4, 0.03, alone)
    flooded: list[list] = [[] for _ in range(4)]
    threads = [threading.Thread(target=asks, args=(limited, FLOOD, 6, 0, mine)) for mine in flooded]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    beside: list = []
    asks(limited, QUIET, 5, 0.03, beside)
    for thread in threads:
        thread.join()
    took = time.monotonic() - began
    told = [answer for mine in flooded for answer in mine]
    let_in = [answer for answer in told if answer[0] == 200]
    refused = [answer for answer in told if answer[0] == 429]
    assert len(let_in) + len(refused) == len(told) and refused
    # A burst of twice the rate, then the rate. The limit may round up to one request more.
    assert len(let_in) <= RATE * (2 + took) + 1, (len(let_in), took)
    assert all(int(wait) >= 1 for _, wait, _, _ in refused) and b'"too_many_requests"' in refused[0][3]
    assert {status for status, _, _, _ in beside} == {200}
    before, after = p99([span for _, _, span, _ in alone]), p99([span for _, _, span, _ in beside])
    print(f"p99 alone {before * 1000:.1f} ms, beside {len(told) / 6:.0f} requests/s {after * 1000:.1f} ms")
    # Clients, server and store share two cores, and the client threads share one interpreter.
    assert after < max(10 * before, 0.5)


def test_clients_that_never_finish_a_request_head_are_disconnected(limited: Cluster):
    # The time of each connection begins when it is made.
    began = time.monotonic()
    sockets = [socket.create_connection(("127.0.0.1", port(limited)), timeout=30) for _ in range(200)]
    for each in sockets:
        each.sendall(b"GET /v1/watches HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")
        each.setblocking(False)
    open_ones = set(sockets)
    while open_ones and time.monotonic() - began < 60:
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
    assert not open_ones and time.monotonic() - began > 10


@pytest.mark.alone
def test_ten_thousand_idle_connections_delay_no_response(limited: Cluster):
    """Half of the connections have sent no request, which is nearly the limit; the others wait after a response."""
    count = 4_900
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2 * count + 500:
        pytest.skip(f"{hard} files may be open here")
    idle = []

    def connect() -> socket.socket:
        idle.append(socket.create_connection(("127.0.0.1", port(limited)), timeout=30))
        return idle[-1]

    try:
        for _ in range(count):
            connect().sendall(b"GET /none HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        for each in idle:
            assert each.recv(4096).startswith(b"HTTP/1.1 401 ")
        for _ in range(count):
            connect()
        spans = []
        for _ in range(50):
            began = time.monotonic()
            # Each uses a new connection.
            response = limited.api.request("GET", "/v1/watches?limit=1", headers={"Connection": "close"})
            assert response.status_code == 200
            spans.append(time.monotonic() - began)
            time.sleep(0.03)
        print(f"p99 beside {2 * count} connections {p99(spans) * 1000:.1f} ms")
        assert p99(spans) < 3, "a busy machine is slow, a server without sockets never responds"
    finally:
        for each in idle:
            each.close()


NAMES = {FLOOD: "flood", QUIET: "quiet"}
WATCHES, ENDPOINTS, WAITS, STREAMS = 200, 2, 3, 2
SOURCES = itertools.count()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server with two tenants, each with its own key; one of them has no limit of watches."""
    folder: Path = tmp_path_factory.mktemp("shared")
    keys, file = folder / "keys", folder / "poller.yaml"
    keys.write_text("".join(f"{key} name={name} account={name} role=operator\n" for key, name in NAMES.items()))
    file.write_text(
        "accounts:\n"
        "  flood: {stripe_api_key: {env: TENANTS_KEY}}\n"
        "  quiet: {stripe_api_key: {env: TENANTS_KEY}, limits: {watches: 0, endpoints: 3}}\n"
    )
    env = {
        "POLLER_API_KEYS_FILE": str(keys), "POLLER_CONFIG_FILE": str(file), "TENANTS_KEY": "sk_test_1",
        "POLLER_WATCHES_PER_ACCOUNT": str(WATCHES), "POLLER_ENDPOINTS_PER_ACCOUNT": str(ENDPOINTS),
        "POLLER_WAITS_PER_KEY": str(WAITS), "POLLER_STREAMS_PER_KEY": str(STREAMS),
    }
    with Cluster(workers=0, notifiers=1, listen=False, env=env) as cluster:
        cluster.flood, cluster.quiet = (PollerAPI(cluster.api.url, key) for key in (FLOOD, QUIET))
        cluster.api = cluster.quiet
        yield cluster


def begins(api: PollerAPI, seconds: float, pause: float, answers: list) -> None:
    """Enqueues new sources one after the other; records each response and its duration."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        answer = api.enqueue(f"src_{next(SOURCES)}")
        answers.append((answer, time.monotonic() - began))
        time.sleep(pause)


def has(api: PollerAPI) -> dict:
    [account] = api.get("/v1/accounts")["data"]
    return account


@pytest.mark.alone
def test_an_account_with_too_many_watches_is_limited_and_does_not_slow_another(shared: Cluster):
    alone: list = []
    begins(shared.quiet, 2, 0.03, alone)
    flooded: list[list] = [[] for _ in range(4)]
    threads = [
        threading.Thread(target=begins, args=(PollerAPI(shared.api.url, FLOOD), 5, 0, mine)) for mine in flooded
    ]
    for thread in threads:
        thread.start()
    beside: list = []
    begins(shared.quiet, 4, 0.03, beside)
    for thread in threads:
        thread.join()
    answers = [answer for mine in flooded for answer, _ in mine]
    taken = sum(answer.status_code == 201 for answer in answers)
    refused = [answer for answer in answers if answer.status_code == 429]
    assert taken + len(refused) == len(answers) and refused
    # Each of the four threads may have one request accepted beyond the limit.
    assert WATCHES <= taken <= WATCHES + 4, taken
    problem = refused[-1].json()
    assert problem["code"] == "too_many_watches" and refused[-1].headers["Retry-After"] == "60"
    assert f"of at most {WATCHES} open watches" in problem["detail"] and "POLLER_WATCHES_PER_ACCOUNT" in problem["detail"]
    assert {answer.status_code for answer, _ in beside} == {201}
    before, after = p99([span for _, span in alone]), p99([span for _, span in beside])
    print(f"p99 alone {before * 1000:.1f} ms, beside {len(answers) / 5:.0f} refused/s {after * 1000:.1f} ms")
    assert after < max(10 * before, 0.5)

    assert has(shared.flood) == {
        "id": "flood", "open": taken, "open_max": WATCHES, "endpoints": 0, "endpoints_max": ENDPOINTS,
    }
    many = [{"source": f"src_{next(SOURCES)}"} for _ in range(2 * WATCHES)]
    assert shared.quiet.request("POST", "/v1/watches/batch", json=many).status_code == 200, "its own limit is none"
    quiet = has(shared.quiet)
    assert quiet["open"] == len(alone) + len(beside) + len(many) and quiet["open_max"] is None
    # An open watch may be enqueued again, and a watch that ends frees its place.
    open_ones = [answer.json()["source"] for answer in answers if answer.status_code == 201]
    assert shared.flood.enqueue(open_ones[0]).status_code == 200
    for source in open_ones[: taken - WATCHES + 1]:
        assert shared.flood.request("DELETE", f"/v1/watches/{source}").status_code == 200
    assert shared.flood.enqueue(f"src_{next(SOURCES)}").status_code == 201
    assert shared.flood.enqueue(f"src_{next(SOURCES)}").status_code == 429
    shown = run("pollerctl", "account", "list", env={"POLLER_URL": shared.api.url, "POLLER_API_KEY": FLOOD})
    assert [line.split() for line in shown.stdout.splitlines()] == [["flood", "200", "200", "0", "2"]], shown.stderr
    told = run("pollerctl", "enqueue", "src_more", env={"POLLER_URL": shared.api.url, "POLLER_API_KEY": FLOOD})
    assert told.returncode == 1 and f"of at most {WATCHES} open watches" in told.stderr, "at once, without trying for minutes"


def test_an_account_registers_endpoints_up_to_its_limit(shared: Cluster):
    for api, most in ((shared.flood, ENDPOINTS), (shared.quiet, 3)):
        statuses = [
            api.request("POST", "/v1/endpoints", json={"url": "https://shop.example/hook"}).status_code
            for _ in range(most + 1)
        ]
        assert statuses == [201] * most + [409]
        assert has(api)["endpoints"] == most
    refused = shared.flood.request("POST", "/v1/endpoints", json={"url": "https://shop.example/hook"})
    assert refused.json()["code"] == "too_many_endpoints" and "Retry-After" not in refused.headers


def test_a_key_over_its_limit_of_long_polls_is_rejected_another_is_not(shared: Cluster):
    """Each wait holds a slot until it is answered, and a freed slot is available immediately."""
    shared.quiet.enqueue("src_waited").raise_for_status()
    path = "/v1/events?from=now&wait={}"

    def waits() -> None:
        # The requests below may hold the last slot at that moment.
        while PollerAPI(shared.api.url, FLOOD).request("GET", path.format("15s")).status_code == 429:
            time.sleep(0.01)

    threads = [threading.Thread(target=waits) for _ in range(WAITS)]
    for thread in threads:
        thread.start()
    refused: list = []

    def is_refused() -> bool:
        answer = shared.flood.request("GET", path.format("50ms"))
        refused.append(answer)
        return answer.status_code == 429

    wait_until(is_refused, 60, "all slots of the key are in use")
    problem = refused[-1].json()
    assert problem["code"] == "too_many_requests" and "POLLER_WAITS_PER_KEY" in problem["detail"]
    assert refused[-1].headers["Retry-After"] == "1"
    assert shared.flood.request("GET", "/v1/watches?limit=1").status_code == 200, "requests that do not wait are served"
    assert shared.quiet.request("GET", path.format("500ms")).status_code == 200
    assert all(thread.is_alive() for thread in threads), "it waited for the slots of the other key"
    for thread in threads:
        thread.join()
    assert shared.flood.request("GET", path.format("50ms")).status_code == 200


def test_a_key_over_its_limit_of_streams_is_rejected_another_is_not(shared: Cluster):
    url = shared.gateway() + "/v1/events/stream"

    def listen(key: str) -> requests.Response:
        session = requests.Session()
        session.trust_env = False
        return session.get(url, headers={"Authorization": f"Bearer {key}"}, stream=True, timeout=30)

    streams = [listen(FLOOD) for _ in range(STREAMS)]
    try:
        assert [stream.status_code for stream in streams] == [200] * STREAMS
        refused = listen(FLOOD)
        assert refused.status_code == 429 and int(refused.headers["Retry-After"]) >= 1, refused.text
        problem = refused.json()
        assert problem["code"] == "too_many_requests" and "POLLER_STREAMS_PER_KEY" in problem["detail"]
        streams.append(listen(QUIET))
        assert streams[-1].status_code == 200
        streams.pop(0).close()
        wait_until(lambda: streams.append(listen(FLOOD)) or streams[-1].status_code == 200, 60, "a place is free")
    finally:
        for stream in streams:
            stream.close()
