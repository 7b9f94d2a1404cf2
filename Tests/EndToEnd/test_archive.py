"""What `pollerctl export` has written comes back with `pollerctl import`, and nobody is told of it."""

import json
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from harness.cluster import Cluster, program
from harness.poller_api import PollerAPI
from harness.redis_server import free_port
from harness.waiting import wait_until
from test_afterlife import paid
from test_timeline import ctl

# What a store has beside what the archive says: who was told what, and what came from outside.
TOLD_ONLY_THERE = ("delivery", "mail", "deed", "hint", "visit")


@pytest.fixture
def heard():
    """A cluster that the sandbox tells by webhook, and that is emptied and filled again."""
    with Cluster(workers=1, listen=False, env={"POLLER_STRIPE_SWEEP": "off"}) as cluster:
        port = free_port()
        form = {"url": f"http://127.0.0.1:{port}/v1/stripe/webhook", "enabled_events[]": "*"}
        secret = cluster.sandbox._stripe("POST", "/v1/webhook_endpoints", form)["secret"]
        more = {"POLLER_API_BIND": f"127.0.0.1:{port}", "STRIPE_WEBHOOK_SECRET": secret}
        taker = cluster.role("taker", "api", more).start().wait_ready()
        cluster.apis.append(taker)
        yield cluster


def put_back(cluster: Cluster, file: Path | str, *options: str, given: str | None = None) -> subprocess.CompletedProcess:
    command = [program("pollerctl"), "import", str(file), *options, "--url", cluster.api.url]
    return subprocess.run(command, input=given, capture_output=True, text=True)


def empty(cluster: Cluster) -> None:
    """Loses everything that Redis has, between two lives of all processes."""
    roles = [*cluster.apis, *cluster.workers, *cluster.notifiers]
    for role in roles:
        role.terminate()
    with cluster.redis.client() as client:
        client.flushall()
    for role in roles:
        role.start().wait_ready()
    cluster.api = PollerAPI(cluster.api_process.address("api"))


def shown(cluster: Cluster, source: str) -> dict:
    """What the API says of a payment, but for what is in no archive."""
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


def test_a_store_that_was_lost_has_its_payments_again(heard: Cluster, tmp_path: Path):
    klarna, charge = paid(heard, "klarna")
    failed, waiting = heard.sandbox.create_source(), heard.sandbox.create_source()
    order = f"R-{uuid.uuid4().hex[:8]}"
    heard.enqueue(failed, order=order, until="final", metadata={"customer": "c-1"})
    heard.enqueue(waiting)
    heard.wait_status(failed, "pending")
    heard.wait_status(waiting, "pending")
    heard.sandbox.set_status(failed, "failed")
    heard.wait_status(failed, "failed")
    heard.wait_delivered([failed])
    before = {source: shown(heard, source) for source in (klarna, failed)}
    assert all(each["watch"]["state"] == "closed" and each["story"] for each in before.values())
    file = tmp_path / "archive.ndjson"
    lines = archive(heard, file)
    assert sorted(json.loads(line)["watch"]["source"] for line in lines) == sorted((klarna, failed))
    lines += ctl(heard, "export", "--state", "open").splitlines()
    file.write_text("\n".join(lines) + "\n")
    told = len(heard.webhook.receipts.all())

    empty(heard)
    assert heard.api.get("/v1/watches")["data"] == []
    done = put_back(heard, file)
    assert done.returncode == 0 and done.stdout == "2 payments put back, 0 were there already\n", done.stderr
    assert done.stderr == "pollerctl: 1 had not ended and were left out: watch them with pollerctl enqueue\n"
    polls = len(heard.sandbox.polls(klarna))
    for source, was in before.items():
        assert shown(heard, source) == was, source
    for words in (f"order={order}", "customer=c-1", "status=failed"):
        assert [found["source"] for found in heard.api.get(f"/v1/watches?q={words}")["data"]] == [failed], words
    assert heard.api.request("GET", f"/v1/watches/{waiting}").status_code == 404
    assert sorted(archive(heard, tmp_path / "again.ndjson")) != [] and heard.fsck().returncode == 0

    again = put_back(heard, file, "--json")
    assert json.loads(again.stdout) == {"restored": 0, "present": 2, "open": 1}, again.stderr
    time.sleep(3)
    assert len(heard.webhook.receipts.all()) == told and len(heard.sandbox.polls(klarna)) == polls
    (entry,) = [entry for entry in heard.api.get("/v1/audit")["data"] if entry["action"] == "restoreWatches"]
    assert entry["target"] == {"kind": "watch", "id": "2 watches"}, entry

    # Its money is heard of as if it had never been away, and nothing that was told before is told again.
    heard.sandbox._call("POST", f"/_sandbox/charges/{charge}/disputes", json={})
    seq = before[klarna]["watch"]["seq"] + 1
    wait_until(lambda: heard.api.watch(klarna)["seq"] == seq, 20, "the dispute is told")
    assert heard.api.watch(klarna)["payment"]["state"] == "disputed"
    heard.wait_delivered([klarna])
    time.sleep(1)
    assert [receipt.seq for receipt in heard.webhook.receipts.of(klarna)] == list(range(1, seq + 1))


def test_an_import_that_is_killed_goes_on(heard: Cluster, tmp_path: Path):
    source, count = heard.sandbox.create_source(), 2000
    heard.enqueue(source, notify=[])
    heard.wait_status(source, "pending")
    heard.sandbox.set_status(source, "failed")
    heard.wait_status(source, "failed")
    (line,) = archive(heard, tmp_path / "one.ndjson", source)
    names = [f"{source}x{number}" for number in range(count)]
    file = tmp_path / "many.ndjson"
    file.write_text("".join(line.replace(source, name) + "\n" for name in names))

    def there() -> list[str]:
        found, cursor = [], ""
        while cursor is not None:
            page = heard.api.get(f"/v1/watches?state=closed&limit=500{cursor}")
            found += [watch["source"] for watch in page["data"]]
            cursor = f"&cursor={page['next']}" if page["next"] else None
        return sorted(set(found) - {source})

    command = [program("pollerctl"), "import", "-", "--url", heard.api.url]
    importer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text = file.read_bytes()
    importer.stdin.write(text[: len(text) * 3 // 5])
    importer.stdin.flush()
    wait_until(lambda: len(there()) >= 500, 60, "a part is there")
    importer.kill()
    importer.wait()
    some = len(there())
    assert 500 <= some < count

    done = json.loads(put_back(heard, file, "--json").stdout)
    assert done["restored"] + done["present"] == count and done["present"] >= 500, done
    assert there() == sorted(names)
    assert json.loads(put_back(heard, file, "--json").stdout) == {"restored": 0, "present": count, "open": 0}
    assert heard.api.events(names[-1])[-1]["status"] == "failed"
    assert heard.fsck().returncode == 0, heard.fsck().stdout


def test_lines_that_are_wrong_are_named_and_leave_nothing_half(heard: Cluster, tmp_path: Path):
    source = heard.sandbox.create_source()
    heard.enqueue(source, notify=[])
    heard.wait_status(source, "pending")
    heard.sandbox.set_status(source, "failed")
    heard.wait_status(source, "failed")
    (line,) = archive(heard, tmp_path / "one.ndjson", source)
    good, other = line.replace(source, f"{source}a"), json.loads(line.replace(source, f"{source}b"))
    other["events"].pop()
    cut = put_back(heard, "-", given=f"{good}\n\n{line[:100]}\n")
    assert cut.returncode == 64 and "line 3: it is no JSON object, or is cut off" in cut.stderr, cut.stderr
    short = put_back(heard, "-", given=f"{good}\n\n{json.dumps(other)}\n")
    assert short.returncode == 64, short.stderr
    assert f"line 3: events are not the last of the {other['watch']['seq']}" in short.stderr, short.stderr
    assert heard.api.request("GET", f"/v1/watches/{source}a").status_code == 404
    assert put_back(heard, tmp_path / "nowhere.ndjson").returncode == 64
