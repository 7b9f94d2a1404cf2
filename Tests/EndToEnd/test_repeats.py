"""Tests requests repeated with the same idempotency key, on a server killed during them and on another server."""

import contextlib
import threading
import time

import redis
import requests
from harness.cluster import Cluster
from harness.poller_api import PollerAPI
from harness.stopping_way import StoppingWay
from harness.waiting import wait_until
from test_access_keys import becomes, first_key

# The resources that the requests create: path and body.
WISHES = {
    "key": ("/v1/keys", {"role": "viewer"}),
    "endpoint": ("/v1/endpoints", {"url": "https://shop.example.com/hook"}),
}


def post(url: str, key: str, kind: str, number: int) -> requests.Response:
    path, wish = WISHES[kind]
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": f"{kind}-{number}"}
    return requests.post(url + path, json=wish, headers=headers, timeout=30)


def store(cluster: Cluster) -> redis.Redis:
    # Stored responses are binary.
    return redis.Redis.from_url(cluster.redis.url, socket_timeout=30)


def records(cluster: Cluster) -> dict[str, bytes]:
    """Returns every idempotent request in Redis: `c …` while it is being processed, `k …` once it was answered."""
    with store(cluster) as client:
        keys = list(client.scan_iter(b"poller:R{*", count=1000))
        return {key: client.get(key) or b"" for key in keys}


# The validity of a server's claim of a request.
LEASE_S = 15


def end_leases(cluster: Cluster) -> int:
    """Expires the claims of dead servers, which would otherwise take `LEASE_S`, and returns their number."""
    ended = 0
    with store(cluster) as client:
        for key, value in records(cluster).items():
            if value.startswith(b"c "):
                parts = value.split(b" ")
                client.set(key, b" ".join([*parts[:4], b"0", parts[5]]), keepttl=True)
                ended += 1
    return ended


def test_a_kill_during_a_request_repeats_no_effect_and_keeps_the_response(chaos):
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False)
    admin = first_key(cluster)
    # At the kill, the server has created its second key and waits for the answer of Redis.
    way = StoppingWay(cluster.redis.port, b"_keyWrite\r\n", 2)
    server = cluster.role("dying", "api", {"POLLER_REDIS_URL": way.url}).start().wait_ready()
    dying, living = server.address("api"), cluster.api_process.address("api")
    for url in (dying, living):
        becomes(url, admin, 200)
    told: dict[tuple[str, int], requests.Response] = {}
    names = [(kind, number) for number in range(20) for kind in WISHES]

    def send(name: tuple[str, int]) -> None:
        with contextlib.suppress(requests.ConnectionError):
            told[name] = post(dying, admin, *name)

    # The first one creates a key and is answered.
    send(names[0])
    assert told[names[0]].status_code == 201, told[names[0]].text
    threads = [threading.Thread(target=send, args=(name,)) for name in names[1:]]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    wait_until(lambda: way.is_stalled, 60, "another key is created")
    server.kill9()
    for thread in threads:
        thread.join(30)
    way.close()
    interrupted = sum(value.startswith(b"c ") for value in records(cluster).values())
    assert interrupted, "no request was in the middle"

    # The other server refuses the interrupted requests until the claims expire.
    first = {name: post(living, admin, *name) for name in names}
    are_in_time = time.monotonic() - began < LEASE_S
    blocked = {name for name, answer in first.items() if answer.status_code == 409}
    # On a slow machine some claims have expired before the request.
    assert len(blocked) == interrupted if are_in_time else len(blocked) <= interrupted
    for name in blocked:
        assert first[name].json()["code"] == "idempotency_key_in_use"
        assert 1 <= int(first[name].headers["Retry-After"]) <= LEASE_S
    assert end_leases(cluster) == len(blocked)
    second = {name: post(living, admin, *name) for name in names}
    third = {name: post(living, admin, *name) for name in names}
    for name in names:
        assert second[name].status_code == 201, second[name].text
        assert third[name].content == second[name].content and third[name].headers["Idempotent-Replayed"] == "true"
        for earlier in (told.get(name), first[name] if first[name].ok else None):
            assert earlier is None or earlier.content == second[name].content

    # Each resource exists once, and the responses match the stored resources.
    api = PollerAPI(living, admin)
    made = {kind: {second[name].json()["id"] for name in names if name[0] == kind} for kind in WISHES}
    assert len(made["key"]) == len(made["endpoint"]) == len(names) // 2
    assert {key["id"] for key in api.get("/v1/keys")["data"]} == made["key"] | {"key_" + admin.split("_")[1]}
    assert {each["id"] for each in api.get("/v1/endpoints?limit=500")["data"]} == made["endpoint"]
    for name in names:
        if name[0] == "key":
            becomes(living, second[name].json()["key"], 200)
        else:
            assert second[name].json()["secret"].startswith("whsec_")


def test_a_repeat_does_not_restart_the_watch_of_a_settled_payment(calm: Cluster):
    source = calm.sandbox.create_source()
    wish, name = {"source": source, "policy": "interactive"}, {"Idempotency-Key": f"watch-{source}"}
    first = calm.api.request("POST", "/v1/watches", json=wish, headers=name)
    assert first.status_code == 201 and "Idempotent-Replayed" not in first.headers
    calm.api.request("DELETE", f"/v1/watches/{source}")
    again = calm.api.request("POST", "/v1/watches", json=wish, headers=name)
    assert again.status_code == 201 and again.content == first.content and again.headers["Idempotent-Replayed"] == "true"
    assert calm.api.watch(source)["state"] == "closed" and calm.api.watch(source)["run"] == 1
    other = calm.api.request("POST", "/v1/watches", json=wish | {"policy": "patient"}, headers=name)
    assert other.status_code == 409 and other.json()["code"] == "idempotency_key_reused"
    assert calm.api.request("POST", "/v1/watches", json=wish).status_code == 201
    assert calm.api.watch(source)["run"] == 2


def test_a_stored_response_is_small_and_expires_after_a_day(calm: Cluster):
    source = calm.sandbox.create_source()
    before = set(records(calm))
    calm.api.request("POST", "/v1/watches", json={"source": source}, headers={"Idempotency-Key": f"size-{source}"})
    [key] = set(records(calm)) - before
    with store(calm) as client:
        assert client.memory_usage(key) < 2000
        assert 86_000_000 < client.pttl(key) <= 86_400_000
        assert source.encode() not in client.get(key)


def test_forms_write_a_space_as_a_plus(calm: Cluster):
    source, order = calm.sandbox.create_source(), f"a b+{time.time_ns()}"
    assert calm.api.enqueue(source, metadata={"order": order}).status_code == 201
    for parameters in ({"metadata.order": order}, {"q": f'metadata.order="{order}" state=open'}):
        found = calm.api.request("GET", "/v1/watches", params=parameters)
        assert [watch["source"] for watch in found.json()["data"]] == [source], found.url
    calm.api.request("DELETE", f"/v1/watches/{source}")
