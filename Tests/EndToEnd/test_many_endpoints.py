"""Tests fair delivery: an account with thousands of endpoints does not delay an account with one."""

import contextlib
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from harness.accepting_shop import Shop
from harness.cluster import Cluster
from harness.stopping_way import StoppingWay
from harness.waiting import wait_until

# Marked `alone`: tests in which the order of deliveries depends on CPU time.
MANY = 1000
KEYS = {"many": "sk_test_many", "one": "sk_test_one"}


class Silence:
    """Accepts every connection and never answers, or answers one request in `answers_one_of`."""

    def __init__(self, answers_one_of: int = 0):
        self.answers_one_of = answers_one_of
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.taken: list[socket.socket] = []
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while True:
            try:
                self.taken.append(self.socket.accept()[0])
            except OSError:
                return
            if self.answers_one_of and len(self.taken) % self.answers_one_of == 0:
                with contextlib.suppress(OSError):
                    self.taken[-1].settimeout(1)
                    self.taken[-1].recv(65536)
                    self.taken[-1].sendall(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")

    def close(self):
        self.socket.close()
        for connection in self.taken:
            connection.close()


@pytest.fixture
def cluster(tmp_path):
    config = tmp_path / "poller.yaml"
    accounts = "".join(f"  {name}: {{stripe_api_key: {{env: KEY_{name.upper()}}}}}\n" for name in KEYS)
    config.write_text(f"accounts:\n{accounts}")
    env = {"POLLER_CONFIG_FILE": str(config), "POLLER_LANE_RATE": "0", "POLLER_LOG_LEVEL": "warning"}
    env |= {f"KEY_{name.upper()}": key for name, key in KEYS.items()}
    with Cluster(workers=1, notifiers=1, listen=False, env=env) as cluster:
        yield cluster


@pytest.fixture
def shop():
    shop = Shop()
    yield shop
    shop.close()


def source(cluster: Cluster, account: str) -> str:
    form = {"type": "ideal", "amount": 1099, "currency": "eur", "redirect[return_url]": "https://shop.example.com/"}
    made = requests.post(f"{cluster.sandbox.url}/v1/sources", data=form, auth=(KEYS[account], ""), timeout=30)
    assert made.ok, made.text
    return made.json()["id"]


def watch(cluster: Cluster, account: str, **more) -> None:
    body = {"account": account, "policy": "interactive"} | more
    body.setdefault("source", source(cluster, account))
    made = cluster.api.request("POST", "/v1/watches", json=body)
    assert made.status_code == 201, made.text


def many_endpoints(cluster: Cluster, url: str, count: int = MANY, **more) -> None:
    def make(number: int) -> None:
        body = {"url": f"{url}/many/{number}", "account": "many"} | more
        made = cluster.api.request("POST", "/v1/endpoints", json=body)
        assert made.status_code == 201, made.text

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(make, range(count)))


def waiting(cluster: Cluster) -> int:
    stats = cluster.api.get("/v1/stats")["deliveries"]
    return stats["pending"] + stats["leased"]


@pytest.mark.alone
def test_an_account_with_one_endpoint_does_not_wait_for_thousands_of_another(cluster, shop):
    many_endpoints(cluster, shop.origin)
    for _ in range(4):
        watch(cluster, "many")
    wait_until(lambda: shop.paths, 60, "the first of the many endpoints has the event", pause_s=0.01)
    for number in range(3):
        watch(cluster, "one", notify=[f"{shop.origin}/one/{number}"])
    wait_until(lambda: len(shop.paths) >= 4 * MANY + 3, 120, "all endpoints have the event", pause_s=0.1)
    places = [shop.paths.index(f"/one/{number}") for number in range(3)]
    print(f"told as number {places} of {4 * MANY + 3}")
    assert max(places) < MANY
    assert len(shop.paths) == 4 * MANY + 3


@pytest.mark.alone
def test_silent_receivers_do_not_delay_others(cluster, shop):
    silence = Silence()
    try:
        many_endpoints(cluster, silence.url, timeout="30s")
        watch(cluster, "many")
        wait_until(lambda: len(silence.taken) >= 200, 60, "most places wait for an answer", pause_s=0.05)
        began = time.monotonic()
        for number in range(3):
            watch(cluster, "one", notify=[f"{shop.origin}/one/{number}"])
            # A starved delivery would only arrive after the first attempts of the other account time out.
            wait_until(lambda: f"/one/{number}" in shop.paths, 25, "the other account has the event", pause_s=0.02)
        print(f"told three within {time.monotonic() - began:.2f} s, {waiting(cluster)} of the others wait")
        assert waiting(cluster) >= MANY * 0.9
        assert cluster.notifiers[0].metric("poller_deliveries_put_off_total") > 0
    finally:
        silence.close()


@pytest.mark.alone
def test_a_slow_platform_does_not_delay_other_receivers_of_the_account(cluster, shop):
    silence = Silence(answers_one_of=10)
    try:
        platform = source(cluster, "many")
        many_endpoints(cluster, silence.url, sources=[platform])
        watch(cluster, "many", source=platform)
        # Attempts that started before the platform was known to be slow finish first.
        wait_until(lambda: len(silence.taken) >= 300, 60, "the first have run out of time", pause_s=0.1)
        elsewhere = shop.origin.replace("127.0.0.1", "localhost")
        lags = []
        for number in range(5):
            # The delivery starts at an arbitrary moment of the platform's next attempts.
            tried = len(silence.taken)
            if number > 0:
                wait_until(lambda: len(silence.taken) >= tried + 20, 60, "others are tried", pause_s=0.02)
            began = time.monotonic()
            watch(cluster, "many", notify=[f"{elsewhere}/elsewhere/{number}"])
            # With one limit for all receivers of the account, it would compete with a thousand others for a minute.
            wait_until(lambda: f"/elsewhere/{number}" in shop.paths, 60, "the other receiver has the event", pause_s=0.02)
            lags.append(time.monotonic() - began)
        # The first delivery may wait for attempts that started before the platform was known to be slow.
        assert max(lags[1:]) < 10, lags
        print(f"told after {[round(lag, 2) for lag in lags]} s, {waiting(cluster)} of the others wait")
        assert waiting(cluster) >= MANY * 0.5
    finally:
        silence.close()


def marks(client) -> int:
    """Returns the total of marks and registry changes that the store has counted."""
    with client.pipeline(transaction=False) as pipeline:
        for number in range(16):
            pipeline.hget(f"poller:d:m{{{number}}}", "confirmed")
        return sum(int(count or 0) for count in pipeline.execute())


def end_leases(client) -> None:
    """Expires the delivery leases of a dead notifier, which would otherwise take 45 s."""
    for key in client.scan_iter("poller:d:r{*", count=1000):
        client.zadd(key, dict.fromkeys(client.zrange(key, 0, -1), 1), xx=True)


def test_another_notifier_continues_the_fan_out_of_a_crashed_one(cluster, shop):
    count = 2000
    many_endpoints(cluster, shop.origin, count)
    cluster.notifiers[0].terminate()
    # It crashes while it waits for the answer to its first marks.
    way = StoppingWay(cluster.redis.port, b"_mark\r\n", 1)
    # The deliveries in flight at the crash may be repeated. The concurrency limits them to four.
    env = {"POLLER_DELIVERY_CONCURRENCY": "4", "POLLER_REDIS_URL": way.url}
    first = cluster.role("notifier_first", "notifier", env).start().wait_ready()
    with cluster.redis.client() as client:
        before = marks(client)
        watch(cluster, "many")
        wait_until(lambda: marks(client) > before, 60, "a part is marked")
        first.kill9()
        way.close()
        at_death = marks(client) - before
        assert 0 < at_death < count * 0.9, "it was not killed in the middle"
        end_leases(client)
        cluster.role("notifier_second", "notifier").start().wait_ready()
        wait_until(lambda: len(set(shop.paths)) >= count, 120, "all endpoints have the event", pause_s=0.1)
        # The last deliveries may end before their event is acknowledged.
        wait_until(lambda: not client.keys("poller:F{*"), 60, "nothing is kept of an event that is marked")
        made = marks(client) - before
    wait_until(lambda: waiting(cluster) == 0, 60, "events held by the killed notifier are delivered", pause_s=0.2)
    print(f"{at_death} marks at the death, {made} in all, {len(shop.paths)} told")
    # One batch of about 500 marks may be written twice.
    assert count <= made < count + 600
    assert set(shop.paths) == {f"/many/{number}" for number in range(count)}
    # Delivery is at least once: events in flight at the crash may arrive again, with the same ID.
    assert len({headers["webhook-id"] for headers, _ in shop.requests}) == 1
    assert len(shop.paths) <= count + 24
