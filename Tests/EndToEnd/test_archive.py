"""Tests that `pollerctl import` restores the output of `pollerctl export` without any delivery.

Only lines that the cluster has signed are restored, and no upstream can forge one.
"""

import json
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from harness.cluster import Cluster, program
from harness.commands import ctl, pollerctl
from harness.http_server import HTTPServer, Request
from harness.poller_api import PollerAPI
from harness.shop import with_webhooks
from harness.waiting import wait_until
from test_afterlife import paid

# Timeline entries that an archive does not contain: deliveries, mails, actions, hints and visits to the return page.
TOLD_ONLY_THERE = ("delivery", "mail", "deed", "hint", "visit")
# With a master key, which signs the archives, they remain valid after the loss of the store.
MASTER_KEY = "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210"
OTHER_KEY = "ffeeddccbbaa998877665544332211000123456789abcdeffedcba9876543210"


@pytest.fixture
def hinted():
    """A cluster with the sandbox's webhooks, whose store a test empties and restores."""
    env = {"POLLER_STRIPE_SWEEP": "off", "POLLER_MASTER_KEY": MASTER_KEY}
    with Cluster(workers=1, listen=False, env=env) as cluster:
        cluster.apis.append(with_webhooks(cluster).taker)
        yield cluster


def put_back(
    cluster: Cluster, file: Path | str, *options: str, given: str | None = None, key: str = ""
) -> subprocess.CompletedProcess:
    return pollerctl(cluster, "import", str(file), *options, status=None, key=key, input=given)


def empty(cluster: Cluster) -> None:
    """Deletes all data in Redis between two starts of all processes."""
    roles = [*cluster.apis, *cluster.workers, *cluster.notifiers]
    for role in roles:
        role.terminate()
    with cluster.redis.client() as client:
        client.flushall()
    for role in roles:
        role.start().wait_ready()
    cluster.api = PollerAPI(cluster.api_process.address("api"))


def shown(cluster: Cluster, source: str) -> dict:
    """Returns the API's data about a payment, except for data that no archive contains."""
    story = cluster.api.get(f"/v1/watches/{source}/timeline")["data"]
    return {
        "watch": cluster.api.watch(source),
        "events": cluster.api.events(source),
        "story": [entry for entry in story if entry["kind"] not in TOLD_ONLY_THERE],
        "printed": ctl(cluster, "events", source, "--json"),
    }


def archive(cluster: Cluster, file: Path, *words: str) -> list[str]:
    file.write_text(ctl(cluster, "export", *words))
    return file.read_text().splitlines()


def test_payments_of_a_lost_store_are_restored(hinted: Cluster, tmp_path: Path):
    klarna, charge = paid(hinted, "klarna")
    failed, waiting = hinted.sandbox.create_source(), hinted.sandbox.create_source()
    order = f"R-{uuid.uuid4().hex[:8]}"
    hinted.enqueue(failed, order=order, until="final", metadata={"customer": "c-1"})
    hinted.enqueue(waiting)
    hinted.wait_status(failed, "pending")
    hinted.wait_status(waiting, "pending")
    hinted.set_status(failed, "failed")
    hinted.wait_delivered([failed, waiting])
    before = {source: shown(hinted, source) for source in (klarna, failed)}
    assert all(each["watch"]["state"] == "closed" and each["story"] for each in before.values())
    file = tmp_path / "archive.ndjson"
    lines = archive(hinted, file)
    assert sorted(json.loads(line)["watch"]["source"] for line in lines) == sorted((klarna, failed))
    lines += ctl(hinted, "export", "--state", "open").splitlines()
    file.write_text("\n".join(lines) + "\n")
    told = len(hinted.webhook.receipts.all())

    empty(hinted)
    assert hinted.api.get("/v1/watches")["data"] == []
    done = put_back(hinted, file)
    assert done.returncode == 0 and done.stdout == "2 payments restored, 0 already present\n", done.stderr
    assert done.stderr == "pollerctl: 1 open payments skipped: watch them with pollerctl enqueue\n"
    polls = len(hinted.sandbox.polls(klarna))
    for source, was in before.items():
        assert shown(hinted, source) == was, source
    for words in (f"order={order}", "customer=c-1", "status=failed"):
        assert [found["source"] for found in hinted.api.get(f"/v1/watches?q={words}")["data"]] == [failed], words
    assert hinted.api.request("GET", f"/v1/watches/{waiting}").status_code == 404
    assert sorted(archive(hinted, tmp_path / "again.ndjson")) != [] and hinted.fsck().returncode == 0

    again = put_back(hinted, file, "--json")
    assert json.loads(again.stdout) == {"restored": 0, "present": 2, "open": 1}, again.stderr
    time.sleep(3)
    assert len(hinted.webhook.receipts.all()) == told and len(hinted.sandbox.polls(klarna)) == polls
    (entry,) = [entry for entry in hinted.api.get("/v1/audit")["data"] if entry["action"] == "restoreWatches"]
    assert entry["target"] == {"kind": "watch", "id": "2 watches"}, entry

    # Changes of the restored payment are reported as before, and earlier events are not delivered again.
    hinted.sandbox._call("POST", f"/_sandbox/charges/{charge}/disputes", json={})
    seq = before[klarna]["watch"]["seq"] + 1
    wait_until(lambda: hinted.api.watch(klarna)["seq"] == seq, 60, "the dispute is reported")
    assert hinted.api.watch(klarna)["payment"]["state"] == "disputed"
    hinted.wait_delivered([klarna])
    time.sleep(1)
    assert [receipt.seq for receipt in hinted.webhook.receipts.of(klarna)] == list(range(1, seq + 1))


@pytest.mark.long
def test_a_killed_import_resumes(hinted: Cluster, tmp_path: Path):
    source, count = hinted.sandbox.create_source(), 2000
    hinted.follow(source, notify=[])
    hinted.set_status(source, "failed")
    (line,) = archive(hinted, tmp_path / "one.ndjson", source)
    names = [f"{source}x{number}" for number in range(count)]
    file = tmp_path / "many.ndjson"
    # The cluster did not sign these lines, because the source IDs were changed.
    file.write_text("".join(line.replace(source, name) + "\n" for name in names))

    def there() -> list[str]:
        found, cursor = [], ""
        while cursor is not None:
            page = hinted.api.get(f"/v1/watches?state=closed&limit=500{cursor}")
            found += [watch["source"] for watch in page["data"]]
            cursor = f"&cursor={page['next']}" if page["next"] else None
        return sorted(set(found) - {source})

    command = [program("pollerctl"), "import", "-", "--trust", "--url", hinted.api.url]
    importer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text = file.read_bytes()
    importer.stdin.write(text[: len(text) * 3 // 5])
    importer.stdin.flush()
    wait_until(lambda: len(there()) >= 500, 60, "a part is restored")
    importer.kill()
    importer.wait()
    some = len(there())
    assert 500 <= some < count

    done = json.loads(put_back(hinted, file, "--trust", "--json").stdout)
    assert done["restored"] + done["present"] == count and done["present"] >= 500, done
    assert there() == sorted(names)
    again = put_back(hinted, file, "--trust", "--json")
    assert json.loads(again.stdout) == {"restored": 0, "present": count, "open": 0}
    assert hinted.api.events(names[-1])[-1]["status"] == "failed"
    assert hinted.fsck().returncode == 0, hinted.fsck().stdout


def test_invalid_lines_are_named_and_restore_no_payment_partially(hinted: Cluster, tmp_path: Path):
    source = hinted.follow_new(notify=[])
    hinted.set_status(source, "failed")
    (line,) = archive(hinted, tmp_path / "one.ndjson", source)
    good, other = line.replace(source, f"{source}a"), json.loads(line.replace(source, f"{source}b"))
    other["events"].pop()
    cut = put_back(hinted, "-", "--trust", given=f"{good}\n\n{line[:100]}\n")
    assert cut.returncode == 64 and "line 3: not a JSON object, or truncated" in cut.stderr, cut.stderr
    short = put_back(hinted, "-", "--trust", given=f"{good}\n\n{json.dumps(other)}\n")
    assert short.returncode == 64, short.stderr
    assert f"line 3: events are not the last of the {other['watch']['seq']}" in short.stderr, short.stderr
    assert hinted.api.request("GET", f"/v1/watches/{source}a").status_code == 404
    assert put_back(hinted, tmp_path / "nowhere.ndjson").returncode == 64


class Upstream(HTTPServer):
    """Answers every GET with the same bytes."""

    body = b"{}"

    def answer(self, _request: Request, _body: bytes) -> tuple:
        return 200, self.body, {"content-type": "application/json"}


@pytest.fixture
def upstream():
    with Upstream() as upstream:
        yield upstream


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_an_upstream_response_cannot_forge_a_line_of_an_archive(upstream: Upstream, tmp_path: Path, end: str):
    config = tmp_path / "poller.yaml"
    config.write_text(f"""
upstreams:
  till:
    url: {upstream.url}/{{id}}
    status: /status
    final: [done]
""")
    env = {"POLLER_CONFIG_FILE": str(config), "POLLER_MASTER_KEY": MASTER_KEY, "POLLER_STRIPE_SWEEP": "off"}
    with Cluster(workers=1, listen=False, env=env) as cluster:
        victim = cluster.follow_new(notify=[])
        cluster.set_status(victim, "failed")
        (true,) = archive(cluster, tmp_path / "true.ndjson", victim)
        forged = true.replace(victim, "src_forged").replace('"failed"', '"consumed"')
        # The response contains a complete forged archive line, which claims a payment of another account.
        upstream.body = f'{{{end}  "status" : "done",{end}  "note":{end}{forged}{end}  }}{end}'.encode()
        watch = {"url": f"{upstream.url}/pay-1", "policy": "interactive", "notify": []}
        assert cluster.api.request("POST", "/v1/watches", json=watch).status_code == 201
        path = "/v1/watches/pay-1?account=till&kind=http"
        wait_until(lambda: cluster.api.get(path)["state"] == "closed", 60, "closed")

        file = tmp_path / "all.ndjson"
        file.write_bytes(ctl(cluster, "export").encode())
        lines = file.read_bytes().splitlines()
        assert len(lines) == 2 and b"\r" not in file.read_bytes()
        assert sorted(json.loads(line)["watch"]["source"] for line in lines) == sorted([victim, "pay-1"])
        of = ["pay-1", "--account", "till", "--kind", "http"]
        for command in (["events", *of], ["get", *of], ["list", "--state", "closed", "--account", "till"]):
            printed = ctl(cluster, *command, "--json").splitlines()
            assert printed and {json.loads(line)["source"] for line in printed} == {"pay-1"}, command

        # The forged line has no valid signature of this cluster. The genuine lines are restored.
        refused = put_back(cluster, "-", given=forged + "\n")
        assert refused.returncode == 64 and "line 1: " in refused.stderr and "--trust" in refused.stderr
        empty(cluster)
        done = put_back(cluster, file)
        assert done.stdout == "2 payments restored, 0 already present\n", done.stderr
        assert cluster.api.request("GET", "/v1/watches/src_forged").status_code == 404
        assert sorted(archive(cluster, tmp_path / "again.ndjson")) != []


def test_only_lines_signed_by_the_cluster_are_restored(hinted: Cluster, tmp_path: Path):
    lines = []
    for number in range(2):
        source = hinted.follow_new(notify=[], metadata={"customer": "c-1"})
        hinted.set_status(source, "failed")
        lines += archive(hinted, tmp_path / f"{number}.ndjson", source)
    own, second = lines
    name = json.loads(own)["watch"]["source"]

    keys = tmp_path / "keys"
    whole, bound, stranger = (f"key-of-{name}-0123456789" for name in ("everything", "default", "acme"))
    keys.write_text(
        f"{whole} role=admin\n{bound} role=admin account=default\n{stranger} role=admin account=acme\n"
    )
    keys.chmod(0o600)

    def elsewhere(master: str | None) -> Cluster:
        env = {"POLLER_API_KEYS_FILE": str(keys)} | ({"POLLER_MASTER_KEY": master} if master else {})
        return Cluster(workers=0, notifiers=0, listen=False, env=env)

    with elsewhere(f"{OTHER_KEY},{MASTER_KEY}") as same:
        changed = own.replace("c-1", "c-2")
        refused = put_back(same, "-", given=f"{own}\n{changed}\n", key=whole)
        assert refused.returncode == 64, refused.stdout
        assert "line 2: The line does not match its digest" in refused.stderr and "--trust" in refused.stderr
        assert "line 1" not in refused.stderr
        # A key of one account cannot restore another account's payments and cannot use `--trust`.
        for key, options in ((stranger, ()), (stranger, ("--trust",)), (bound, ("--trust",))):
            refused = put_back(same, "-", *options, given=own + "\n", key=key)
            assert refused.returncode != 0, refused.stdout
        assert put_back(same, "-", given=own + "\n", key=bound).stdout.startswith("1 payments restored")
        done = put_back(same, "-", given=f"{own}\n{second}\n", key=whole)
        assert done.stdout == "1 payments restored, 1 already present\n", done.stderr

    with elsewhere(None) as other:
        refused = put_back(other, "-", given=own + "\n", key=whole)
        assert refused.returncode == 64 and "which this cluster does not have" in refused.stderr
        without = json.dumps({name: json.loads(own)[name] for name in ("watch", "events", "timeline")})
        refused = put_back(other, "-", given=without + "\n", key=whole)
        assert refused.returncode == 64 and "has no digest" in refused.stderr
        api = PollerAPI(other.api.url, whole)
        assert api.request("GET", f"/v1/watches/{name}").status_code == 404
        done = put_back(other, "-", "--trust", given=without + "\n", key=whole)
        assert done.stdout.startswith("1 payments restored"), done.stderr
        (entry,) = [entry for entry in api.get("/v1/audit")["data"] if entry["action"] == "restoreWatches"]
        assert entry["after"] == {"state": "closed", "unsigned": "1"}, entry
