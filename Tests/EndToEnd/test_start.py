"""Tests the start of a process: its work before it is ready, and its log."""

import json
import socket
from collections import Counter
from pathlib import Path

from harness.cluster import Cluster, Role, program
from harness.commands import run
from harness.process import Process
from harness.waiting import wait_until

BINDS = {f"POLLER_{name}_BIND": "127.0.0.1:0" for name in ("API", "GATEWAY", "ADMIN")}


def test_a_start_at_debug_logs_a_readable_amount(calm: Cluster, tmp_path: Path):
    """Services are logged by name only, because their contents include tables, keys and secrets of the cluster."""
    env = {
        "POLLER_REDIS_URL": calm.redis.url,
        "POLLER_NAMESPACE": "start",
        "POLLER_LOG_LEVEL": "debug",
        "POLLER_API_BIND": "127.0.0.1:0",
        "POLLER_GATEWAY_BIND": "127.0.0.1:0",
        "POLLER_ADMIN_BIND": "127.0.0.1:0",
        "STRIPE_API_KEY": "sk_test_start",
    }
    node = Process("node", [program("pollerd"), "all"], tmp_path, env).start()
    try:
        node.line("pollerd ready")
        maps = Path(f"/proc/{node.pid}/maps")
        assert not maps.exists() or "libcurl" not in maps.read_text(), "no mail is sent here"
        assert node.terminate() == 0, node.tail()
        assert len(node.stderr()) < 100_000 and '"AdminServer"' in node.stderr(), node.tail()
    finally:
        node.end()


def test_ports_in_use_are_reported_in_one_line_before_the_start():
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        taken = [f"127.0.0.1:{server.getsockname()[1]}" for server in (one, other)]
        alone = run("pollerd", "all", "--embedded", env=BINDS | {"POLLER_API_BIND": taken[0]})
        both = run("pollerd", "worker", "--admin-bind", taken[1], env=BINDS)
        two = run("pollerd", "all", env=BINDS | {"POLLER_API_BIND": taken[0], "POLLER_ADMIN_BIND": taken[1]})
        same = run("pollerd", "api", env={"POLLER_API_BIND": "127.0.0.1:65123", "POLLER_ADMIN_BIND": "127.0.0.1:65123"})
    for done, said in (
        (alone, ["--api-bind (POLLER_API_BIND)", "is in use"]), (both, ["--admin-bind (POLLER_ADMIN_BIND)"]),
        (two, [f"{taken[0]} (--api-bind)", f"{taken[1]} (--admin-bind)"]),
        (same, ["--api-bind and --admin-bind are both"]),
    ):
        assert done.returncode == 78 and done.stdout == "" and done.stderr.count("\n") == 1, done
        assert all(part in done.stderr for part in said), done.stderr


def test_a_start_prints_no_message_twice(tmp_path: Path):
    role = Role("embedded", [program("pollerd"), "all", "--embedded"], tmp_path, BINDS).start()
    try:
        role.wait_ready()
        # A separate thread writes the log.
        wait_until(role.stderr, 60, "the start is logged")
        said = [json.loads(line)["message"] for line in role.stderr().splitlines()]
        assert not [message for message, count in Counter(said).items() if count > 1], said
        shown = role.stdout().splitlines()
        assert len(shown) == len(set(shown))
        for listener in ("api", "gateway", "admin"):
            port = role.address(listener).rsplit(":", 1)[1]
            assert not [line for line in role.stderr().splitlines() if f":{port}" in line], "printed on both streams"
    finally:
        role.end()


def test_an_unreachable_redis_is_reported_once_with_the_cause(tmp_path: Path):
    role = Role("alone", [program("pollerd"), "worker"], tmp_path, BINDS | {"POLLER_REDIS_URL": "redis://127.0.0.1:1/0"})
    role.start()
    try:
        # The process logs that it waits after five seconds. Every other message has been logged by then.
        wait_until(lambda: "waiting for it before starting" in role.stderr(), 60, "the wait is logged")
        lines = [json.loads(line) for line in role.stderr().splitlines()]
        failed = [line for line in lines if line["message"] == "connecting to Redis failed"]
        assert len(failed) == 1 and failed[0]["level"] == "error", lines
        assert failed[0]["error"] == "Connection refused" and failed[0]["remedy"]
    finally:
        role.end()
