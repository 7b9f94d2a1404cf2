"""Tests the examples in ops/examples, run as a service would run them."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from harness.cluster import Cluster
from harness.process import Process
from harness.waiting import wait_until

EXAMPLES = Path(__file__).resolve().parents[2] / "ops" / "examples"


def lines(process: Process) -> list[str]:
    return process.stdout().splitlines()


def start(cluster: Cluster, request, command: list[str], env: dict[str, str] | None = None):
    """Starts an example as a separate process that ends with the test."""
    process = Process(f"example-{request.node.name}", command, cluster.logs, env).start()
    request.addfinalizer(process.end)
    return process


def settle(cluster: Cluster, source: str, *statuses: str) -> None:
    for status in statuses:
        cluster.set_status(source, status)


@pytest.mark.parametrize("outage", ["killed", "locked out"])
def test_the_python_subscriber_fills_the_gap_of_a_lost_connection(
    calm: Cluster, request, outage: str
):
    source, other = calm.sandbox.create_sources(2)
    command = [
        sys.executable, str(EXAMPLES / "subscribe.py"),
        "--redis", calm.redis.url, "--api", calm.api.url, source, other,
    ]
    with calm.redis.client() as redis:
        # A separate Redis user, so that killing its connection affects no other client.
        redis.execute_command("ACL", "SETUSER", "example", "on", ">pw", "~*", "&*", "+@all")
        command[3] = calm.redis.url.replace("redis://", "redis://example:pw@")
        example = start(calm, request, command)
        wait_until(
            lambda: redis.pubsub_numsub(f"poller:events:{source}")[0][1] == 1, 60, "it listens"
        )
        for name in (source, other):
            calm.follow(name, notify=[])
        wait_until(lambda: len(lines(example)) == 2, 60, "the first event of each")
        if outage == "locked out":
            redis.execute_command("ACL", "SETUSER", "example", "off")
        assert redis.execute_command("CLIENT", "KILL", "USER", "example") == 1
        # The subscriber misses this event, at least while its user is disabled.
        settle(calm, source, "chargeable")
        if outage == "locked out":
            wait_until(lambda: "connection lost" in example.stderr(), 60, "it tries in vain")
            assert len(lines(example)) == 2
        redis.execute_command("ACL", "SETUSER", "example", "on")
        settle(calm, source, "consumed")
        settle(calm, other, "failed")
        wait_until(lambda: not example.running, 60, "it ends with the last event")
        redis.execute_command("ACL", "DELUSER", "example")
    assert example.exit_status == 0, example.tail()
    told = [json.loads(line) for line in lines(example)]
    for name in (source, other):
        assert [event for event in told if event["source"] == name] == calm.api.events(name)
    assert "connection lost" in example.stderr()


@pytest.mark.skipif(not shutil.which("redis-cli"), reason="no redis-cli on this machine")
def test_the_shell_subscriber_reads_a_stream_and_resumes_at_its_position(calm: Cluster, request):
    source = calm.sandbox.create_source()
    name = f"orders-{source[-6:]}"
    calm.enqueue(source, notify=[f"redis+stream:{name}"])
    command = [str(EXAMPLES / "subscribe.sh"), name]
    env = {"REDIS_URL": calm.redis.url}
    first = start(calm, request, command, env)
    wait_until(lambda: len(lines(first)) == 1, 60, "the first event")
    place, _, text = lines(first)[0].partition(" ")
    first.end()
    settle(calm, source, "chargeable", "consumed")
    second = Process("example-again", [*command, place], calm.logs, env).start()
    request.addfinalizer(second.end)
    wait_until(lambda: len(lines(second)) == 4, 60, "the missed payment and source events")
    told = [json.loads(line.partition(" ")[2]) for line in [*lines(first), *lines(second)]]
    assert told == calm.api.events(source)


def test_a_named_redis_stream_gets_every_event_once_and_in_order(calm: Cluster):
    sources = calm.sandbox.create_sources(10)
    for source in sources:
        calm.enqueue(source, notify=["redis+stream:all", calm.webhook.url])
    for source in sources:
        calm.wait_status(source, "pending")
        calm.sandbox.set_status(source, "failed")
    with calm.redis.client() as redis:
        # Source pending, payment failed, source failed.
        wait_until(lambda: redis.xlen("poller:stream:all") == 30, 60, "30 entries")
        entries = [fields for _, fields in redis.xrange("poller:stream:all")]
    for source in sources:
        told = [e for e in entries if json.loads(e["event"])["source"] == source]
        recorded = calm.api.events(source)
        assert [json.loads(e["event"]) for e in told] == recorded
        assert [(e["id"], int(e["seq"])) for e in told] == [(e["id"], e["seq"]) for e in recorded]


@pytest.mark.parametrize("name", ["", "a b", "a/b/c", "/b", "a{b}", "x" * 65, "a:b", "a%00b"])
def test_an_invalid_stream_name_is_rejected(calm: Cluster, name: str):
    answer = calm.api.enqueue("src_stream_name", notify=[f"redis+stream:{name}"])
    assert answer.status_code == 422, answer.text
    assert "notify" in answer.json()["field"]
