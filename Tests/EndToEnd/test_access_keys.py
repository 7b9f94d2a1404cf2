"""Tests that access keys can be created, listed and revoked at runtime, and restricted to accounts."""

import json
import os
import socket
import subprocess
import time

import pytest
import requests
import websockets.sync.client
from harness.cluster import Cluster, program
from harness.commands import pollerctl, printed
from harness.poller_api import PollerAPI
from harness.waiting import wait_until
from websockets.exceptions import ConnectionClosed


def first_key(cluster: Cluster, *options: str) -> str:
    """Creates a key directly in the store, as an operator does before a key for the API exists."""
    done = subprocess.run(
        [program("pollerd"), "key", "create", *options],
        env=os.environ | {"POLLER_REDIS_URL": cluster.redis.url},
        capture_output=True, text=True, timeout=60,
    )
    assert done.returncode == 0, done.stderr
    [key] = done.stdout.splitlines()
    return key


def ctl(cluster: Cluster, key: str | None, *arguments: str, status: int = 0) -> list[dict]:
    return printed(pollerctl(cluster, *arguments, "--json", status=status, key=key))


def status(url: str, key: str | None, path: str = "/v1/watches") -> int:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return requests.get(url + path, headers=headers, timeout=60).status_code


def becomes(url: str, key: str | None, wanted: int) -> float:
    """Returns the seconds until a request gets the status `wanted`."""
    began = time.monotonic()
    wait_until(lambda: status(url, key) == wanted, 60, f"{wanted}")
    return time.monotonic() - began


def test_the_first_key_closes_every_server_and_a_revoked_key_is_rejected_within_a_second(chaos):
    cluster: Cluster = chaos(workers=1, notifiers=1, apis=2, listen=False)
    urls = [process.address("api") for process in cluster.apis]
    [source] = cluster.sandbox.create_sources(1)
    assert status(urls[0], None) == 200
    everybody = requests.get(f"{cluster.gateway()}/v1/events/stream", stream=True, timeout=60)
    # The first key must be able to create others; otherwise it would lock every user out.
    ctl(cluster, None, "key", "create", "--role", "viewer", status=1)
    admin = first_key(cluster)
    assert status(urls[0], admin) == 200, "it is known when it is printed"
    assert b"a key is needed that was not revoked" in everybody.content, "connections without a key are closed"
    for url in urls:
        becomes(url, None, 401)
        assert status(url, admin) == 200
    ctl(cluster, None, "list", status=77)
    ctl(cluster, admin, "enqueue", source, "--policy", "interactive")

    [made] = ctl(cluster, admin, "key", "create", "--role", "viewer", "--name", "board", "--expires", "90d")
    viewer = made["key"]
    assert made["role"] == "viewer" and made["id"] in admin_list(cluster, admin)
    assert "key" not in [key for key in ctl(cluster, admin, "key", "list") if key["id"] == made["id"]][0]
    for url in urls:
        becomes(url, viewer, 200)
    ctl(cluster, viewer, "cancel", source, status=77)
    ctl(cluster, viewer, "key", "list", status=77)

    gateway = cluster.gateway()

    def follow() -> requests.Response | None:
        headers = {"Authorization": f"Bearer {viewer}"}
        answer = requests.get(f"{gateway}/v1/events/stream", headers=headers, stream=True, timeout=60)
        return answer if answer.status_code == 200 else None

    stream = wait_until(follow, 60, "the gateway knows the key")
    with websockets.sync.client.connect(
        gateway.replace("http://", "ws://") + "/v1/stream",
        subprotocols=["poller.v1.json"], additional_headers={"Authorization": f"Bearer {viewer}"}, proxy=None,
    ) as live:
        assert json.loads(live.recv(timeout=60))["op"] == "hello"
        ctl(cluster, admin, "key", "revoke", made["id"])
        began = time.monotonic()
        with pytest.raises(ConnectionClosed) as closed:
            while json.loads(live.recv(timeout=60))["op"] == "bye":
                pass
    assert closed.value.rcvd.reason == "a key is needed that was not revoked"
    assert b"a key is needed that was not revoked" in stream.content
    for url in urls:
        becomes(url, viewer, 401)
    # Every process reads the keys twice a second (`KeyRingTests`); the rest is margin for a busy machine.
    assert time.monotonic() - began < 30
    assert made["id"] not in admin_list(cluster, admin)


def admin_list(cluster: Cluster, admin: str) -> set[str]:
    return {key["id"] for key in ctl(cluster, admin, "key", "list")}


def test_keys_survive_a_redis_crash_and_stay_valid_after_it(chaos):
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False, fsync="always")
    admin = first_key(cluster)
    url = cluster.api.url
    becomes(url, admin, 200)
    becomes(url, None, 401)
    cluster.redis.kill9()
    wait_until(lambda: status(url, admin) == 503, 60, "the store is unavailable")
    assert status(url, "plr_wrong") == 401
    cluster.redis.start()
    wait_until(lambda: status(url, admin) == 200, 60, "the store and the key are available again")
    # The last key that can create keys cannot be revoked.
    [own] = ctl(cluster, admin, "key", "list")
    ctl(cluster, admin, "key", "revoke", own["id"], status=1)
    other = first_key(cluster, "--name", "spare")
    becomes(url, other, 200)
    ctl(cluster, other, "key", "revoke", own["id"])
    assert status(url, admin) == 401
    # Redis stores only a digest of each key, never the key itself.
    store = cluster.redis.client()
    store.config_set("rdbcompression", "no")
    dumps = {name: str(store.dump(name)) for name in store.keys("*")}
    kept = json.dumps(list(dumps.values()))
    # Only the audit trail still records that the key existed and which caller revoked it.
    assert [str(name) for name, dump in dumps.items() if own["id"] in dump] == ["poller:C{0}"]
    for key in (admin, other):
        # The random part may itself contain an underscore.
        assert key.split("_", 2)[2] not in kept
    [kept] = ctl(cluster, other, "key", "list")
    assert kept["name"] == "spare"


def test_a_key_bound_to_an_account_cannot_read_or_create_data_of_others(chaos, tmp_path):
    # A publishable key cannot poll without a client_secret, so the watches remain open.
    config = tmp_path / "poller.yaml"
    config.write_text("accounts: {acme: {stripe_api_key: {env: ACME_KEY}}}\n")
    env = {"POLLER_CONFIG_FILE": str(config), "ACME_KEY": "pk_test_acme"}
    cluster: Cluster = chaos(workers=1, notifiers=1, listen=False, env=env)
    admin = first_key(cluster)
    becomes(cluster.api.url, admin, 200)
    everything = PollerAPI(cluster.api.url, admin)
    hook = {"url": "https://shop.example/hook"}
    theirs = everything.request("POST", "/v1/endpoints", json=hook | {"account": "acme"}).json()["id"]
    others = everything.request("POST", "/v1/endpoints", json=hook).json()["id"]
    for number in range(30):
        account = "acme" if number % 10 == 0 else "default"
        assert everything.enqueue(f"src_{number:03}", account=account, order=f"O-{number}").status_code == 201

    [made] = ctl(cluster, admin, "key", "create", "--role", "admin", "--account", "acme")
    bound = PollerAPI(cluster.api.url, made["key"])
    becomes(cluster.api.url, made["key"], 200)
    found, path = [], "/v1/watches?limit=1"
    while path:
        page = bound.get(path)
        found += [watch["source"] for watch in page["data"]]
        path = page.get("next") and f"/v1/watches?limit=1&cursor={page['next']}"
    assert sorted(found) == ["src_000", "src_010", "src_020"]
    assert {endpoint["id"] for endpoint in bound.get("/v1/endpoints")["data"]} == {theirs}
    assert {lane["id"] for lane in bound.get("/v1/lanes")["data"]} == {"acme/sources"}
    for path in (f"/v1/endpoints/{others}", "/v1/watches/src_001?account=default", "/v1/orders/O-1?account=default",
                 "/v1/lanes/default/sources"):
        assert bound.request("GET", path).status_code == 404, path
    assert bound.request("POST", f"/v1/endpoints/{others}/replay").status_code == 404
    # Without an `account`, the key's own account is used.
    assert bound.enqueue("src_900").json()["account"] == "acme"
    refused = bound.enqueue("src_901", account="default")
    assert (refused.status_code, refused.json()["code"]) == (404, "account_not_found")
    for path in ("/v1/stats", "/v1/workers", "/v1/doctor"):
        assert bound.request("GET", path).status_code == 403, path
    # A key can create only keys for its own accounts.
    assert bound.request("POST", "/v1/keys", json={"role": "viewer"}).json()["accounts"] == ["acme"]
    assert bound.request("POST", "/v1/keys", json={"role": "viewer", "accounts": ["default"]}).status_code == 404
    assert {key["id"] for key in bound.get("/v1/keys")["data"]}.isdisjoint({key["id"] for key in ctl(
        cluster, admin, "key", "list") if "accounts" not in key})

    def foreign() -> requests.Response:
        query = "since=snapshot&source=src_001&account=default"
        headers = {"Authorization": f"Bearer {made['key']}"}
        return requests.get(f"{cluster.gateway()}/v1/events/stream?{query}", headers=headers, timeout=60)

    # The gateway is a separate process and may learn about the key a moment later.
    wait_until(lambda: foreign().status_code != 401, 60, "the gateway knows the key")
    stream = foreign()
    assert stream.status_code in (400, 403, 404) and "account" in stream.text
    pages = bound.get("/v1/events?from=oldest&limit=500")
    assert {event["account"] for event in pages["data"]} <= {"acme"}


def test_a_public_bind_without_a_key_says_how_to_make_one(tmp_path, chaos):
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False)
    env = os.environ | cluster.env | {"POLLER_API_BIND": "0.0.0.0:0"}
    refused = subprocess.run([program("pollerd"), "api"], env=env, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 78 and "pollerd key create" in refused.stderr
    first_key(cluster)
    with subprocess.Popen([program("pollerd"), "api"], env=env, stdout=subprocess.PIPE, text=True) as opened:
        try:
            assert any("pollerd ready" in line for line in iter(opened.stdout.readline, ""))
        finally:
            opened.terminate()


def test_a_request_with_a_late_body_is_rejected_if_its_key_was_revoked_meanwhile(chaos):
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False)
    admin = first_key(cluster)
    becomes(cluster.api.url, admin, 200)
    [thief] = ctl(cluster, admin, "key", "create", "--role", "admin")
    becomes(cluster.api.url, thief["key"], 200)
    host, port = cluster.api.url.removeprefix("http://").split(":")
    open_requests = []
    for path, body in (("/v1/keys", '{"role":"admin"}'), ("/v1/watches", '{"source":"src_1"}')):
        slow = socket.create_connection((host, int(port)), timeout=60)
        slow.sendall(
            f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nAuthorization: Bearer {thief['key']}\r\n\r\n{body[:1]}".encode()
        )
        open_requests.append((slow, body))
    time.sleep(0.3)
    ctl(cluster, admin, "key", "revoke", thief["id"])
    becomes(cluster.api.url, thief["key"], 401)
    for slow, body in open_requests:
        slow.sendall(body[1:].encode())
        assert slow.recv(4096).startswith(b"HTTP/1.1 401"), "it was let in"
        slow.close()
    assert len(ctl(cluster, admin, "key", "list")) == 1


def test_a_key_cannot_create_or_revoke_keys_with_more_rights_than_its_own(chaos):
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False)
    admin = first_key(cluster)
    becomes(cluster.api.url, admin, 200)
    [own] = ctl(cluster, admin, "key", "list")

    def made(key: str, status: int = 201, **wish) -> dict:
        answer = PollerAPI(cluster.api.url, key).request("POST", "/v1/keys", json=wish)
        assert answer.status_code == status, answer.text
        return answer.json()

    short = made(admin, role="admin", expires_in="1h")
    made(short["key"], 403, role="admin")
    made(short["key"], 403, role="viewer", expires_in="2h")
    assert made(short["key"], role="viewer", expires_in="30m")["expires_at"] < short["expires_at"]
    keeper = made(admin, role="viewer", allow=["keys:manage"])
    made(keeper["key"], 403, role="support")
    ctl(cluster, keeper["key"], "key", "revoke", own["id"], status=77)
    for name in ("x\u202ey", "a) key_1 (b", "\u0085", "", "n" * 65):
        made(admin, 422, role="viewer", name=name)
    made(admin, 422, role="viewer", accounts=["acme"], allow=["cluster:read"])

    # An unreadable record does not prevent the revocation of other keys, and can be revoked too.
    store = cluster.redis.client()
    store.hset("poller:A{0}", "key_bad", "garbage")
    store.hset("poller:A{0}", "key_odd", '1 {"role":"admin","by":"x"}')
    for gone in (short["id"], "key_bad", "key_odd"):
        ctl(cluster, admin, "key", "revoke", gone)
    ctl(cluster, admin, "key", "revoke", own["id"], status=1)

    [bound] = ctl(cluster, admin, "key", "create", "--role", "admin", "--account", "acme")
    assert "created_by" not in PollerAPI(cluster.api.url, bound["key"]).get("/v1/keys")["data"][0]
    answers = [
        PollerAPI(cluster.api.url, bound["key"]).request("POST", "/v1/keys", json={"role": "viewer"}).status_code
        for _ in range(50)
    ]
    assert answers == [201] * 49 + [409]


def test_creating_a_key_without_redis_fails_and_names_the_setting():
    done = subprocess.run(
        [program("pollerd"), "key", "create"], env=os.environ | {"POLLER_REDIS_URL": "redis://127.0.0.1:1"},
        capture_output=True, text=True, timeout=60,
    )
    assert done.returncode == 69 and "POLLER_REDIS_URL" in done.stderr and not done.stdout
