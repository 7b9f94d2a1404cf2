"""Tests that Redis, its files, logs, metrics, the process list and the API reveal no secret."""

import json
import os
import re
import secrets
import subprocess
import threading
import time
from pathlib import Path

import redis
import requests
from harness.cluster import Cluster, program
from harness.poller_api import PollerAPI
from harness.stopping_way import StoppingWay
from harness.waiting import wait_until
from harness.webhook_sink import WebhookSink
from test_access_keys import becomes, first_key

MASTER, SECOND = secrets.token_hex(32), secrets.token_hex(32)
HANDED_IN = "src_client_secret_canaryhandedin"
HEADER = "Bearer canaryheader"
STRIPE_WEBHOOK = "whsec_canarystripewebhook"
SMTP = "canarysmtp"
STRIPE_KEY = "sk_test_canarystripekey"


class Monitor:
    """Records every command sent to Redis with its values, as a replica or an eavesdropper sees them."""

    def __init__(self, cluster: Cluster):
        self.text = bytearray()
        self._client = cluster.redis.client()
        self._monitor = self._client.monitor()
        self._monitor.__enter__()
        self._ended = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._ended:
            try:
                self.text += self._monitor.connection.read_response(disconnect_on_error=False).encode() + b"\n"
            except Exception:
                # A read timed out, or the connection was closed.
                time.sleep(0.01)

    def close(self) -> None:
        self._ended = True
        self._monitor.connection.disconnect()
        self._thread.join(10)


def values(cluster: Cluster) -> bytes:
    """Returns every value in Redis, of every type."""
    client = redis.Redis.from_url(cluster.redis.url)
    keys = list(client.scan_iter(count=1000))
    kinds, reads = client.pipeline(transaction=False), client.pipeline(transaction=False)
    for key in keys:
        kinds.type(key)
    read = {
        b"hash": reads.hgetall, b"string": reads.get, b"set": reads.smembers,
        b"list": lambda key: reads.lrange(key, 0, -1), b"zset": lambda key: reads.zrange(key, 0, -1),
        b"stream": lambda key: reads.xrange(key),
        # It has been deleted since the scan.
        b"none": lambda key: None,
    }
    for key, kind in zip(keys, kinds.execute(), strict=True):
        read[kind](key)

    def flat(value) -> bytes:
        if isinstance(value, dict):
            return b"\n".join(flat(each) for pair in value.items() for each in pair)
        if isinstance(value, (list, tuple, set)):
            return b"\n".join(flat(each) for each in value)
        return value if isinstance(value, bytes) else str(value).encode()

    return b"\n".join(keys) + b"\n" + flat(reads.execute())


def files(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def answers(api: PollerAPI, source: str) -> bytes:
    paths = [
        "/v1/watches", f"/v1/watches/{source}", f"/v1/watches/{source}/events", "/v1/events", "/v1/endpoints",
        "/v1/deliveries", "/v1/lanes", "/v1/stats", "/v1/workers", "/v1/quarantine", "/v1/doctor", "/v1/keys",
        "/v1/orders", f"/r/{source}", "/openapi.json", "/", f"/v1/watches/{source}/explain",
    ]
    paths += [f"/v1/endpoints/{endpoint['id']}" for endpoint in api.get("/v1/endpoints")["data"]]
    for delivery in api.get("/v1/deliveries")["data"]:
        paths += [f"/v1/deliveries/{delivery['id']}", f"/v1/deliveries/{delivery['id']}/attempts"]
    return b"\n".join(api.request("GET", path).content for path in paths)


def arguments(cluster: Cluster) -> bytes:
    pids = [process.pid for process in cluster.processes if process.running and "pollerd" in process.command[0]]
    return b"\n".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids)


def payment(chaos, tmp_path: Path, master: str | None) -> tuple[dict[str, str], dict[str, bytes]]:
    """Makes one payment with all its secrets. Returns the secrets, and the places that must not contain them."""
    key_file = tmp_path / "master"
    env = {
        "STRIPE_API_KEY": STRIPE_KEY, "STRIPE_WEBHOOK_SECRET": STRIPE_WEBHOOK, "POLLER_LOG_LEVEL": "trace",
        "POLLER_SMTP_URL": f"smtp://shop:{SMTP}@127.0.0.1:1", "POLLER_WEBHOOK_SECRET": "",
    }
    if master:
        key_file.write_text(master + "\n")
        key_file.chmod(0o600)
        env["POLLER_MASTER_KEY_FILE"] = str(key_file)
    cluster: Cluster = chaos(workers=1, notifiers=1, listen=False, env=env)
    store = cluster.redis.client()
    store.config_set("slowlog-log-slower-than", 0)
    store.config_set("slowlog-max-len", 10_000)
    monitor = Monitor(cluster)
    admin = first_key(cluster)
    becomes(cluster.api.url, admin, 200)
    api = PollerAPI(cluster.api.url, admin)
    inline = {account: api.get(f"/v1/endpoints/inline/secret?account={account}")["secret"] for account in ("default", "acme")}
    sink, told = WebhookSink(inline["default"]), {}
    body = {"url": sink.url, "headers": {"authorization": HEADER}}
    endpoint = api.request("POST", "/v1/endpoints", json=body, headers={"Idempotency-Key": "k"}).json()
    rotated = api.request("POST", f"/v1/endpoints/{endpoint['id']}/rotate", json={}).json()
    # The response with the key is stored, because a repeat of the idempotent request gets it again.
    wish, name = {"role": "viewer"}, {"Idempotency-Key": "canary-name-of-a-request"}
    made = [api.request("POST", "/v1/keys", json=wish, headers=name) for _ in range(2)]
    assert made[0].content == made[1].content and made[1].headers["Idempotent-Replayed"] == "true"
    own = WebhookSink(rotated["secret"])
    assert api.request("PATCH", f"/v1/endpoints/{endpoint['id']}", json={"url": own.url}).ok
    token = api.request("POST", "/v1/stream_tokens", json={}).json()["token"]
    source, other = cluster.sandbox.create_source(), cluster.sandbox.create_source()
    learned = cluster.sandbox.source(source)["client_secret"]
    cluster.api = api
    fields = {"policy": "interactive", "notify": [sink.url]}
    assert api.enqueue(source, **fields).status_code == 201
    assert api.enqueue(other, client_secret=HANDED_IN, **fields).status_code == 201
    cluster.wait_status(source, "pending")
    cluster.authorise(source)
    wait_until(lambda: len(sink.receipts.ids()) >= 3 and len(own.receipts.ids()) >= 3, 60, "both endpoints have the event")
    assert not sink.receipts.problems and not own.receipts.problems
    # The page opens only if the stored client secret can be decrypted.
    for payment, secret in ((source, learned), (other, HANDED_IN)):
        page = requests.get(
            f"{api.url}/r", params={"source": payment, "client_secret": secret}, allow_redirects=False, timeout=20
        )
        assert page.status_code == 303 and "set-cookie" in page.headers, page.text
    store.save()
    store.bgrewriteaof()
    wait_until(lambda: not store.info("persistence")["aof_rewrite_in_progress"], 60, "the file is rewritten")
    places = {
        "values": values(cluster),
        "files": files(cluster._data),
        "commands": bytes(monitor.text),
        "slow log": json.dumps([str(entry) for entry in store.slowlog_get(10_000)]).encode(),
        "logs": b"\n".join(
            path.read_bytes() for path in cluster.logs.iterdir() if not path.name.startswith(("sandbox", "redis"))
        ),
        "metrics": b"\n".join(role.admin("/metrics").content for role in [*cluster.apis, *cluster.workers, *cluster.notifiers]),
        "processes": arguments(cluster),
        "answers": answers(api, source) + answers(api, other),
    }
    monitor.close()
    sink.close()
    own.close()
    assert all(places.values()), {name: len(text) for name, text in places.items()}
    assert source.encode() in places["values"] and source.encode() in places["commands"]
    planted = {
        "endpoint's first secret": endpoint["secret"], "endpoint's secret": rotated["secret"], "header": HEADER,
        "secret of inline webhooks": inline["default"], "that of another account": inline["acme"],
        "client secret handed in": HANDED_IN, "client secret learned": learned, "API key": admin,
        "Stripe key": STRIPE_KEY, "Stripe webhook": STRIPE_WEBHOOK, "SMTP": SMTP, "stream token": token,
        "API key that was made": made[0].json()["key"], "name of a request": name["Idempotency-Key"],
    }
    if master:
        planted["master key"] = master
    return planted, places


def found(planted: dict[str, str], places: dict[str, bytes]) -> set[tuple[str, str]]:
    """Returns the places that contain a secret, which is searched without its prefix."""
    hits = set()
    for name, secret in planted.items():
        core = secret.removeprefix("whsec_").removeprefix("src_client_secret_").removeprefix("Bearer ").encode()
        hits |= {(name, place) for place, text in places.items() if core in text}
    return hits


def test_with_a_master_key_no_secret_is_found_anywhere(chaos, tmp_path):
    planted, places = payment(chaos, tmp_path, MASTER)
    assert len(planted) == 15 and found(planted, places) == set()


def test_without_a_master_key_the_same_search_finds_unencrypted_secrets(chaos, tmp_path):
    planted, places = payment(chaos, tmp_path, None)
    kept = {"endpoint's first secret", "endpoint's secret", "header", "secret of inline webhooks"}
    kept |= {"client secret handed in", "client secret learned"}
    hits = found(planted, places)
    assert {name for name, _ in hits} == kept
    assert {(name, "values") for name in kept} <= hits
    assert {place for _, place in hits} <= {"values", "files", "commands", "slow log"}


# Master keys that are added, replaced, missing and wrong.


def rekey(cluster: Cluster, master: str | None, *options: str, url: str | None = None) -> subprocess.Popen:
    env = {name: value for name, value in os.environ.items() if not name.startswith("POLLER_")}
    env |= {"POLLER_REDIS_URL": url or cluster.redis.url} | ({"POLLER_MASTER_KEY": master} if master else {})
    return subprocess.Popen(
        [program("pollerd"), "rekey", *options], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def rekeyed(cluster: Cluster, master: str | None, *options: str, status: int = 0) -> str:
    out, err = (process := rekey(cluster, master, *options)).communicate(timeout=120)
    assert process.returncode == status, out + err
    return out + err


def in_the_clear(cluster: Cluster) -> int:
    """Returns the number of client secrets stored unencrypted."""
    with cluster.redis.client() as client:
        reads = client.pipeline(transaction=False)
        # In the watch's record, or among its long values.
        for key in client.scan_iter("poller:[wo]{*", count=1000):
            reads.hget(key, "p")
        return sum("canary" in (secret or "") for secret in reads.execute())


def check(api: PollerAPI) -> dict:
    return {check["name"]: check for check in api.get("/v1/doctor")["checks"]}["secrets at rest"]


def test_an_unencrypted_store_in_use_is_encrypted_despite_kills_of_rekey(chaos):
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False)
    count = 2000
    for start in range(0, count, 500):
        batch = [
            {"source": f"src_{n:05}", "client_secret": f"src_client_secret_canary{n:05}"} for n in range(start, start + 500)
        ]
        assert cluster.api.request("POST", "/v1/watches/batch", json=batch).ok
    assert check(cluster.api)["status"] == "warning" and "POLLER_MASTER_KEY_FILE" in check(cluster.api)["action"]
    assert "POLLER_MASTER_KEY_FILE" in rekeyed(cluster, None, status=78)
    assert in_the_clear(cluster) == count

    cluster.api_process.terminate()
    wait_until(lambda: not cluster.api_process.running, 60, "the API has gone")
    role = cluster.role("sealing", "api", {"POLLER_MASTER_KEY": MASTER}).start().wait_ready()
    api = PollerAPI(role.address("api"))
    assert "pollerd rekey" in check(api)["action"] and "in the clear" in check(api)["message"]
    left = count
    for _ in range(3):
        way = StoppingWay(cluster.redis.port, b"_reencrypt\r\n", 300)
        walk = rekey(cluster, MASTER, url=way.url)
        try:
            wait_until(lambda: way.is_stalled, 60, "a part is encrypted")
        finally:
            walk.kill()
            walk.communicate()
            way.close()
        before, left = left, in_the_clear(cluster)
        assert 0 < left < before, "it was killed in the middle"
    assert "everything is encrypted" in rekeyed(cluster, MASTER)
    assert b"canary" not in values(cluster)
    # The count includes incidents, which are items too. The missing worker is reported after a minute.
    looked = re.search(r"watches: (\d+) checked, 0 encrypted again", rekeyed(cluster, MASTER))
    assert looked and int(looked[1]) >= count
    assert check(api)["status"] == "ok"

    # A second key replaces the first. A process with only the old key is reported and stores no new secret.
    assert "still encrypts with" in rekeyed(cluster, f"{SECOND},{MASTER}", status=1)
    late = {"source": "src_late", "client_secret": "src_client_secret_canarylate"}
    for path, body in (("/v1/watches", late), ("/v1/endpoints", {"url": "https://shop.example/hook"})):
        refused = api.request("POST", path, json=body)
        assert refused.status_code == 503 and refused.json()["code"] == "master_key_missing", refused.text
    assert api.request("POST", "/v1/watches", json={"source": "src_nothing_secret"}).status_code == 201
    ready = role.admin("/readyz")
    assert ready.status_code == 503 and "master key" in ready.text, ready.text
    page = requests.get(
        f"{api.url}/r", params={"source": "src_00007", "client_secret": "src_client_secret_canary00007"},
        allow_redirects=False, timeout=20,
    )
    assert page.status_code == 404, "a process with the old key alone cannot open it, and shows nothing"
    role.terminate()
    wait_until(lambda: not role.running, 60, "the API has gone")
    assert "everything is encrypted" in rekeyed(cluster, f"{SECOND},{MASTER}")

    # A process with another key or none does not start.
    for name, wrong in (("none", {}), ("other", {"POLLER_MASTER_KEY": secrets.token_hex(32)})):
        with cluster.redis.client() as client:
            before = client.hgetall("poller:secrets")
        refused = cluster.role(name, "api", wrong).start()
        wait_until(lambda: not refused.running, 60, "it ends")
        told = refused.err.read_text()
        assert refused.exit_status == 78 and "POLLER_MASTER_KEY" in told, told
        with cluster.redis.client() as client:
            assert client.hgetall("poller:secrets") == before, "nothing was noted, and no root made"
    role = cluster.role("second", "api", {"POLLER_MASTER_KEY": SECOND}).start().wait_ready()
    page = requests.get(
        f"{role.address('api')}/r", params={"source": "src_00007", "client_secret": "src_client_secret_canary00007"},
        allow_redirects=False, timeout=20,
    )
    assert page.status_code == 303
    assert check(PollerAPI(role.address("api")))["status"] == "ok"


def test_tokens_and_cursors_stay_valid_while_roots_rotate(chaos):
    cluster: Cluster = chaos(workers=0, notifiers=1, listen=False, env={"POLLER_MASTER_KEY": MASTER})
    body = {"sources": ["src_1"], "ttl": "10m"}
    token = cluster.api.request("POST", "/v1/stream_tokens", json=body).json()["token"]
    cursor = cluster.api.get("/v1/events")["next"]

    def listens(token: str) -> bool:
        # A token in a header, because in a URL it is valid for one connection.
        headers = {"Authorization": f"Bearer {token}"}
        answer = requests.get(
            f"{cluster.gateway()}/v1/sources/src_1/events", headers=headers, stream=True, timeout=20
        )
        answer.close()
        return answer.status_code == 200

    assert listens(token)
    assert "roots: replaced, valid from" in rekeyed(cluster, MASTER, "--roots")
    assert "a short while ago" in rekeyed(cluster, MASTER, "--roots", status=78)
    # Every process knows the announced root, so tokens are accepted before and after new ones are made with it.
    for _ in range(8):
        assert listens(token)
        fresh = cluster.api.request("POST", "/v1/stream_tokens", json=body).json()["token"]
        assert listens(fresh)
        assert cluster.api.request("GET", f"/v1/events?cursor={cursor}").ok
        time.sleep(5)
    assert "POLLER_MASTER_KEY" in rekeyed(cluster, None, "--roots", status=78)
