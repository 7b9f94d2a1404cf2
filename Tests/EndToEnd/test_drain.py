"""Tests that a process that is asked to stop reports it, ends in time and loses no work."""

import http.client
import os
import shutil
import signal
import socket
import time
from pathlib import Path

import pytest
import requests

from harness.cluster import Cluster, program
from harness.kubernetes import environment
from harness.process import Process
from harness.redis_server import RedisServer
from harness.waiting import wait_until

# Longer than a probe request, shorter than the poll timeout.
SLOW_MS = 1200
SOURCES = 40


def held_up(cluster: Cluster) -> list[str]:
    """Returns sources whose polls are in flight in all workers."""
    sources = cluster.sandbox.create_sources(SOURCES)
    fault = cluster.sandbox.fault("delay", match="/v1/sources/", delay_ms=SLOW_MS)
    for source in sources:
        cluster.enqueue(source, notify=[cluster.webhook.url])

    def all_are_busy() -> bool:
        return all(worker.metric("poller_claims_total") > 0 for worker in cluster.workers)

    wait_until(all_are_busy, 60, "every worker polls")
    cluster.sandbox.clear_fault(fault)
    return sources


def test_a_draining_worker_reports_it_ends_in_time_and_loses_nothing(chaos):
    """Scales three workers down to one while polls are in flight."""
    cluster: Cluster = chaos(workers=3, listen=False, env={"POLLER_DRAIN_TIMEOUT": "60s"})
    sources = held_up(cluster)
    going, stays = cluster.workers[:2], cluster.workers[2]
    begun = time.monotonic()
    for worker in going:
        worker.signal(signal.SIGTERM)
    for worker in going:
        # The probe reports the drain immediately and until its end, and is not refused before.
        def told() -> bool:
            try:
                return "draining" in worker.admin("/readyz").text
            except requests.ConnectionError:
                return not worker.running

        wait_until(told, 60, f"{worker.name} reports its drain", pause_s=0.01)
    for worker in going:
        assert wait_until(lambda: worker.exit_status is not None, 60, "it ends") and worker.exit_status == 0
    # The drain waits only for the polls, which take at most 2 s, and not for its limit of 60 s.
    assert time.monotonic() - begun < 40
    for source in sources:
        cluster.wait_status(source, "pending")
        cluster.sandbox.set_status(source, "failed")
    for source in sources:
        cluster.wait_status(source, "failed")
    # No lease had to expire: each leased item was committed or released.
    assert stays.metric("poller_leases_recovered_total") == 0
    assert stays.metric("poller_leases_lost_total") == 0
    cluster.wait_delivered(sources, mail=False)
    history = cluster.history({source: cluster.api.events(source) for source in sources})
    history.channel("webhook", cluster.webhook.receipts.among(sources))
    history.verdict()


def test_probes_and_metrics_respond_until_the_drain_has_ended(chaos):
    cluster: Cluster = chaos(workers=1, listen=False, env={"POLLER_DRAIN_TIMEOUT": "60s"})
    cluster.webhook.hold()
    source = cluster.enqueue_new(notify=[cluster.webhook.url])
    wait_until(lambda: cluster.webhook.attempts, 60, "an attempt that is held")
    notifier = cluster.notifiers[0]
    notifier.signal(signal.SIGTERM)
    wait_until(lambda: notifier.admin("/readyz").status_code == 503, 60, "it is not ready")
    assert notifier.admin("/readyz").text.startswith("draining")
    assert notifier.admin("/livez").status_code == 200, "a restart would cut the drain short"
    assert notifier.admin("/metrics").status_code == 200
    assert notifier.running
    cluster.webhook.release()
    wait_until(lambda: not notifier.running, 40, "the attempt was waited for, and no longer")
    assert notifier.exit_status == 0
    assert cluster.webhook.receipts.of(source), "the attempt was not abandoned"


def test_a_draining_api_answers_long_polls(chaos):
    env = {"POLLER_DRAIN_TIMEOUT": "60s"}
    cluster: Cluster = chaos(workers=1, notifiers=1, listen=False, env=env)
    source = cluster.follow_new(notify=[])
    seq = cluster.api.watch(source)["seq"]
    # The only connection from here on is that of the request.
    cluster.api.http.close()
    wait_until(lambda: not received(cluster.api_process), 60, "no other client is connected")
    waiting = http.client.HTTPConnection(cluster.api_process.address("api").removeprefix("http://"), timeout=60)
    # The request is sent when this returns.
    waiting.request("GET", f"/v1/watches/{source}?after_seq={seq}&wait=30s")
    wait_until(lambda: received(cluster.api_process) == [0], 60, "the API has read the request")
    begun = time.monotonic()
    assert cluster.api_process.terminate() == 0
    # Without the drain, the answer would come after half a minute.
    assert waiting.getresponse().status == 304 and time.monotonic() - begun < 25
    waiting.close()


def received(process: Process) -> list[int]:
    """Returns the bytes that each connection to the process's API has received and the process has not read."""
    port = int(process.line(r"^pollerd api listening on \S+:(\d+)$").group(1))
    table = Path("/proc/net/tcp").read_text().splitlines()[1:]
    rows = [row.split() for row in table]
    return [int(row[4].split(":")[1], 16) for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "01"]


def test_the_service_manager_is_notified_of_start_and_stop(tmp_path: Path):
    """Checks the notifications that systemd expects from a unit of Type=notify."""
    redis = RedisServer(tmp_path, tmp_path / "redis").start()
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(path))
        manager.settimeout(60)
        env = {"POLLER_REDIS_URL": redis.url, "POLLER_ADMIN_BIND": "127.0.0.1:0", "NOTIFY_SOCKET": str(path)}
        worker = Process("worker", [program("pollerd"), "worker"], tmp_path, env).start()
        try:
            assert manager.recv(100) == b"READY=1\n"
            assert "pollerd admin listening on" in worker.stdout()
            worker.signal(signal.SIGTERM)
            assert manager.recv(100) == b"STOPPING=1\n"
            wait_until(lambda: worker.exit_status == 0, 60, "it has drained")
        finally:
            worker.end()
            redis.end()


# Runs a process as the pods of ops/kubernetes do: with a read-only file system, without privileges, and as a user
# without a name. $1 is the folder of its secrets.
POD = r"""
set -e
mount --make-rprivate /
for place in $(awk '{ print $5 }' /proc/self/mountinfo | grep -v '^/proc'); do
    mount -o remount,bind,ro "$place" 2> /dev/null || true
done
if touch /tmp/written 2> /dev/null; then exit 99; fi
exec setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
"""


@pytest.mark.parametrize("role", ["api", "worker", "notifier", "gateway"])
def test_a_role_needs_no_more_rights_than_its_pod_has(calm: Cluster, role: str, tmp_path: Path):
    if os.getuid() != 0 or not shutil.which("setpriv") or not shutil.which("unshare"):
        pytest.skip("needs root, unshare and setpriv: no process was locked in")
    env = environment("dev", role) | {"POLLER_ADMIN_BIND": "127.0.0.1:0", "POLLER_NAMESPACE": "pod"}
    env |= {name: "127.0.0.1:0" for name in ("POLLER_API_BIND", "POLLER_GATEWAY_BIND") if env[name] != "off"}
    env |= {"POLLER_STRIPE_API_BASE": calm.sandbox.url, "POLLER_LOG_FORMAT": ""}
    secrets = {"POLLER_REDIS_URL": calm.redis.url, "POLLER_API_KEYS": "a-key-of-a-test-0123456789", "STRIPE_API_KEY": "sk_test_1"}
    secrets["POLLER_MASTER_KEY"] = "4f1c0de2a9b84c7f9d3a6b1e8c5d7e2f0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    for name in [name for name in env if name.endswith("_FILE")]:
        file = tmp_path / name
        file.write_text(secrets[name.removesuffix("_FILE")])
        os.chown(file, 0, 10001)
        file.chmod(0o440)
        env[name] = str(file)
    for folder in (tmp_path, *tmp_path.parents):
        folder.chmod(folder.stat().st_mode | 0o011)
    del env["POLLER_API_KEY"]
    command = ["unshare", "-m", "sh", "-c", POD, "pod", program("pollerd"), role]
    process = Process(role, command, tmp_path, env).start()
    try:
        process.line(r"^pollerd ready$")
        admin = process.line(r"^pollerd admin listening on (\S+)$").group(1)
        assert requests.get(f"{admin}/readyz", timeout=60).status_code == 200
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert "CapBnd:\t0000000000000000" in status and "NoNewPrivs:\t1" in status
        assert process.terminate() == 0
    finally:
        process.end()
