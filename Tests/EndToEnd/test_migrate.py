"""A store of a former release is read as it is, and written in the newest form once somebody has said so."""

import subprocess
import time

import pytest
import redis
from harness import cluster as harness
from harness.cluster import Cluster, program
from harness.redis_server import RedisServer
from harness.waiting import wait_until


class FormerStore(RedisServer):
    """Redis with a store that was made before stores had a form."""

    def start(self) -> "FormerStore":
        super().start()
        with self.client() as client:
            client.hset("poller:layout", "partitions", 4)
        return self


@pytest.fixture
def former(chaos, monkeypatch) -> Cluster:
    monkeypatch.setitem(harness.STORES, "former", FormerStore)
    return chaos(store="former", workers=1, listen=False)


def migrate(cluster: Cluster, step: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [program("pollerd"), "migrate", step], env=cluster.env, capture_output=True, text=True, timeout=60
    )


def logs(cluster: Cluster) -> list[list[bytes]]:
    with redis.Redis.from_url(cluster.redis.url) as client:
        return [client.lrange(key, 0, -1) for key in client.scan_iter("poller:l{*", count=1000)]


def told(cluster: Cluster, source: str, status: str, more: int) -> None:
    """Waits for the status, and until the shop has had all of it."""
    cluster.wait_status(source, status)
    wait_until(
        lambda: len(cluster.webhook.receipts.of(source)) >= more, 20, f"{source} is told {status}"
    )


def test_two_forms_live_side_by_side_and_one_command_ends_that(former: Cluster):
    source = former.sandbox.create_source()
    former.enqueue(source, notify=[former.webhook.url], metadata={"order": "A77"})
    told(former, source, "pending", 1)
    assert {entry[:1] for log in logs(former) for entry in log} == {b"{"}, "a former release reads JSON alone"

    plan = migrate(former, "plan")
    assert plan.returncode == 0 and "form 1" in plan.stdout and "next: pollerd migrate apply" in plan.stdout

    # A process of a former release, as it says that it lives.
    with former.redis.client() as client:
        beat = f"{int(time.time() * 1000) + 50_000} worker|7|old-host|0.2.0|1|0|owner_of_old"
        client.hset("poller:p{0}", "owner_of_old", beat)
        refused = migrate(former, "apply")
        assert refused.returncode == 78 and "old-host" in refused.stdout, refused.stdout + refused.stderr
        client.hdel("poller:p{0}", "owner_of_old")
        assert client.hget("poller:layout", "reader") is None

    assert migrate(former, "apply").returncode == 0
    behind = migrate(former, "verify")
    assert behind.returncode == 1 and behind.stdout.count("to be restarted") == 3, behind.stdout
    for role in [*former.workers, *former.notifiers, *former.apis]:
        role.terminate()
        role.start().wait_ready()
    former.api.url = former.api_process.address("api")
    verified = migrate(former, "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr

    former.sandbox.authorise(source)
    told(former, source, "chargeable", 3)
    kinds = [entry[:1] for log in logs(former) for entry in log]
    assert kinds == [b"{", b"\x02", b"\x02"], "what was stored stays as it is"
    events = former.api.events(source)
    assert [event["seq"] for event in events] == [1, 2, 3]
    assert all(event["metadata"] == {"order": "A77"} for event in events)
    assert former.fsck().returncode == 0

