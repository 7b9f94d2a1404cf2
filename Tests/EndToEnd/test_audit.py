"""Tests that the API, the command line and the log record which key changed which object."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from harness.cluster import Cluster, program
from harness.commands import pollerctl
from harness.deaf_way import DeafWay
from harness.faked_clock import FakedClock
from harness.poller_api import PollerAPI
from harness.preloaded import IS_HERE
from harness.process import Process
from harness.waiting import wait_until

ADA = "key_of_ada_0123456789abc"
VIC = "key_of_vic_0123456789abc"
ACME = "key_of_acme_0123456789ab"
BOOKS_SECRET = "whsec_Y2FuYXJ5LW9mLXRoZS1maWxlLWNhbmFyeS1vZi10aGUtZmlsZQ=="
HEADER_SECRET = "receivers-own-secret-4711"


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """A cluster with an admin, a viewer, a tenant's operator, and an endpoint in its configuration file."""
    folder: Path = tmp_path_factory.mktemp("audit")
    (folder / "keys").write_text(
        f"{ADA} name=ada\n{VIC} name=vic role=viewer\n{ACME} name=acme-ops role=operator account=acme\n"
    )
    (folder / "poller.yaml").write_text(
        "endpoints:\n  books:\n    url: https://books.example/hook\n    secret: {env: BOOKS}\n"
        "upstreams:\n  bank:\n    url: https://bank.example/payments/{id}\n    status: /state\n    final: [settled]\n"
    )
    env = {
        "POLLER_API_KEYS_FILE": str(folder / "keys"), "POLLER_CONFIG_FILE": str(folder / "poller.yaml"),
        "BOOKS": BOOKS_SECRET,
    }
    with Cluster(workers=1, listen=False, env=env) as cluster:
        cluster.api = PollerAPI(cluster.api.url, ADA)
        yield cluster


def ctl(cluster: Cluster, key: str, *arguments: str) -> subprocess.CompletedProcess:
    return pollerctl(cluster, *arguments, status=None, key=key)


def trail(cluster: Cluster, *options: str, key: str = ADA) -> list[dict]:
    done = ctl(cluster, key, "audit", "--json", *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_trail_names_the_key_of_each_change(closed: Cluster):
    [source] = closed.sandbox.create_sources(1)
    closed.enqueue(source, notify=[])
    assert ctl(closed, ADA, "lane", "pause", "acme/sources").returncode == 0
    assert ctl(closed, VIC, "lane", "resume", "acme/sources").returncode == 77
    assert ctl(closed, ACME, "lane", "resume", "acme/sources").returncode == 0
    hook = {"url": "https://h.example/hook?token=query-secret", "headers": {"X-Auth": HEADER_SECRET}}
    made = closed.api.request("POST", "/v1/endpoints", json=hook).json()
    changed = {"headers": {"X-Auth": HEADER_SECRET + "2"}, "final_only": True}
    assert closed.api.request("PATCH", f"/v1/endpoints/{made['id']}", json=changed).status_code == 200
    assert ctl(closed, ADA, "cancel", source).returncode == 0

    entries = trail(closed, "--since", "5m")
    told = [(entry["by"], entry["action"], entry["target"]["id"]) for entry in entries]
    assert told[:6] == [
        ("ada", "cancelWatch", source), ("ada", "changeEndpoint", made["id"]),
        ("ada", "createEndpoint", made["id"]), ("acme-ops", "resumeLane", "acme/sources"),
        ("vic", "resumeLane", "acme/sources"), ("ada", "pauseLane", "acme/sources"),
    ]
    assert ("configuration", "createEndpoint") in [(by, action) for by, action, _ in told]
    assert [target for by, action, target in told if (by, action) == ("configuration", "limitLane")] == ["bank/http"]
    cancelled, change = entries[0], entries[1]
    assert cancelled["before"] == {"state": "open"} and cancelled["address"] == "127.0.0.1"
    assert change["before"]["final_only"] is False and change["after"]["final_only"] is True
    assert change["after"]["headers"] == "(changed)"
    assert entries[4]["refused"] == "not_allowed" and "refused" not in entries[5]
    assert (entries[5]["before"], entries[5]["after"]) == ({"paused": False}, {"paused": True})
    # Enqueuing is traffic, which the watch's events record instead.
    assert "enqueue" not in [action for _, action, _ in told]

    seen = trail(closed, key=ACME)
    assert [(entry["by"], entry["action"]) for entry in seen] == [
        ("acme-ops", "resumeLane"), ("another key", "pauseLane"),
    ]
    assert not trail(closed, "--by", "ada", key=ACME)
    assert len(trail(closed, "--by", "ada", "--action", "pauseLane", "--target", "acme/sources")) == 1
    assert ctl(closed, VIC, "audit").returncode == 77

    table = ctl(closed, ADA, "audit", "--limit", "3").stdout.splitlines()
    assert len(table) == 3 and "state: open → closed" in table[0] and source in table[0]

    def is_logged() -> bool:
        lines = [json.loads(line) for line in closed.api_process.stderr().splitlines() if '"changed"' in line]
        return any(line.get("action") == "cancelWatch" and line.get("by") == "ada" for line in lines)

    # A separate thread writes the log.
    wait_until(is_logged, 60, "the change is logged")
    dump = json.dumps(entries) + closed.api_process.stderr() + json.dumps(stored(closed))
    for secret in (HEADER_SECRET, "query-secret", ADA, VIC, ACME, made["secret"], BOOKS_SECRET):
        assert secret not in dump, secret


def stored(cluster: Cluster) -> list[str]:
    """Returns the audit trail as Redis stores it."""
    return [str(entry) for entry in cluster.redis.client().xrange("poller:C{0}")]


def test_a_key_created_by_pollerd_is_in_the_trail_and_shown_by_follow(closed: Cluster, tmp_path: Path):
    made: list[str] = []

    def make() -> None:
        done = subprocess.run(
            [program("pollerd"), "key", "create", "--role", "viewer", "--name", f"board {len(made)}"],
            env=os.environ | {"POLLER_REDIS_URL": closed.redis.url},
            capture_output=True, text=True, timeout=60,
        )
        assert done.returncode == 0, done.stderr
        made.append(done.stdout.strip())

    def shown() -> list[dict]:
        return [json.loads(line) for line in following.stdout().splitlines()]

    def shows_new_keys() -> bool:
        make()
        return bool(shown())

    # The command is on a computer whose clock is an hour fast.
    env = {"POLLER_URL": closed.api.url, "POLLER_API_KEY": ADA}
    if IS_HERE:
        clock = FakedClock(tmp_path)
        clock.set(3600)
        env |= clock.env
    following = Process("follow", [program("pollerctl"), "audit", "--follow", "--json"], tmp_path, env).start()
    try:
        # It shows only changes made after its start.
        wait_until(shows_new_keys, 60, "it follows", pause_s=2)
        make()
        # Oldest first, each once, and none of before.
        recorded = [entry["id"] for entry in trail(closed, "--by", "pollerd", "--action", "createKey")][::-1]
        wait_until(lambda: shown()[-1]["id"] == recorded[-1], 60, "it continues")
        entries, told = shown(), following.stdout()
    finally:
        following.end()
    assert [entry["id"] for entry in entries] == recorded[-len(entries):] and len(entries) <= len(made)
    assert {(entry["by"], entry["action"]) for entry in entries} == {("pollerd", "createKey")}
    assert all(entry["after"]["role"] == "viewer" and "address" not in entry for entry in entries)
    assert not any(key in told for key in made)


def test_follow_writes_absolute_times_to_a_pipe(closed: Cluster, tmp_path: Path):
    env = {"POLLER_URL": closed.api.url, "POLLER_API_KEY": ADA}
    following = Process("piped", [program("pollerctl"), "audit", "--follow", "--since", "1h"], tmp_path, env).start()
    try:
        assert ctl(closed, ADA, "lane", "pause", "piped/sources").returncode == 0
        change = following.line(r"^(.*)\tada\tpauseLane\t.*piped/sources")
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:.]+Z", change[1]), change[1]
    finally:
        following.end()


def test_follow_continues_after_an_outage_of_the_api(closed: Cluster, tmp_path: Path):
    env = {"POLLER_URL": closed.api.url, "POLLER_API_KEY": ADA}
    following = Process("outage", [program("pollerctl"), "audit", "--follow", "--since", "1h"], tmp_path, env).start()
    try:
        assert ctl(closed, ADA, "lane", "pause", "outage/sources").returncode == 0
        following.line(r"\tpauseLane\t.*outage/sources")
        closed.api_process.freeze()
        try:
            wait_until(
                lambda: "continue from here" in following.stderr() or not following.running, 60, "the outage is reported"
            )
        finally:
            closed.api_process.thaw()
        assert ctl(closed, ADA, "lane", "resume", "outage/sources").returncode == 0
        following.line(r"\tresumeLane\t.*outage/sources")
        assert len(re.findall(r"\tpauseLane\t.*outage/sources", following.stdout())) == 1
    finally:
        following.end()


def test_a_key_whose_answer_is_lost_is_in_the_trail_with_an_unknown_result(closed: Cluster):
    way = DeafWay(closed.redis.port)
    way.lose(b"_keyWrite\r\n", 1)
    try:
        done = subprocess.run(
            [program("pollerd"), "key", "create", "--role", "viewer", "--name", "unanswered"],
            env=os.environ | {"POLLER_REDIS_URL": way.url}, capture_output=True, text=True, timeout=60,
        )
    finally:
        way.close()
    assert way.left == 0, "no answer was lost"
    assert done.returncode and not done.stdout, done.stdout + done.stderr
    entries = trail(closed, "--by", "pollerd", "--action", "createKey")
    [entry] = [entry for entry in entries if entry["after"].get("name") == "unanswered"]
    assert entry["after"]["result"] == "unknown"
    # The key exists, and the entry names it.
    keys = closed.api.get("/v1/keys")["data"]
    assert [key["id"] for key in keys if key.get("name") == "unanswered"] == [entry["target"]["id"]]
