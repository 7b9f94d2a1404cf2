"""Tests logs and output that cannot be written: no process ends or hangs, and no command reports success."""

import fcntl
import os
import socket
import subprocess
import sys
import threading

import pytest
import requests

from harness.cluster import Cluster, Role, program
from harness.waiting import wait_until

F_SETPIPE_SZ = 1031

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full and the size of pipes")


def started(cluster: Cluster, name: str, role: str, stderr, env: dict | None = None) -> Role:
    """Starts an additional role with this standard error."""
    made = cluster.role(name, role, {"POLLER_LOG_LEVEL": "trace"} | (env or {}))
    made.command = ["bash", "-c", f'exec "$@" 2>{stderr}', "bash", *made.command]
    return made.start()


@linux
@pytest.mark.parametrize("role", ["api", "worker", "notifier"])
def test_a_full_log_disk_does_not_stop_a_role(chaos, role: str):
    cluster = chaos(workers=0, notifiers=0, listen=False)
    made = started(cluster, f"full-{role}", role, "/dev/full").wait_ready()
    assert made.admin("/livez").status_code == 200
    wait_until(
        lambda: made.metric("poller_log_lines_dropped_total") > 0, 60, "dropped lines are counted"
    )
    assert made.running


@linux
def test_payments_complete_while_the_log_disk_is_full(chaos):
    cluster = chaos(workers=0, notifiers=0, listen=False)
    started(cluster, "full-worker", "worker", "/dev/full").wait_ready()
    started(cluster, "full-notifier", "notifier", "/dev/full").wait_ready()
    source = cluster.enqueue_new()
    cluster.authorise(source)
    cluster.wait_delivered([source])


@linux
def test_a_stalled_log_reader_blocks_neither_probes_nor_requests(chaos):
    cluster = chaos(workers=0, notifiers=0, listen=False)
    reader, writer = os.pipe()
    fcntl.fcntl(writer, F_SETPIPE_SZ, 65536)
    os.set_inheritable(writer, True)
    made = cluster.role("stalled-api", "api", {"POLLER_LOG_LEVEL": "trace"})
    made.command = ["bash", "-c", f'exec "$@" 2>&{writer}', "bash", *made.command]
    made.inherited = (writer,)
    made.start().wait_ready()
    os.close(writer)
    url = made.address("api")
    session = requests.Session()

    # Each request logs lines, which together fill the pipe and the log queue. That takes thousands of requests. They
    # are sent without waiting for the answers, so that the client needs little CPU time.
    def full() -> bool:
        request = b"POST /v1/watches HTTP/1.1\r\nHost: poller\r\nContent-Length: 1\r\n\r\n{"
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as client:
            client.sendall(request * 200)
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
        return made.metric("poller_log_lines_dropped_total") > 0

    wait_until(full, 180, "the queue of the log is full", pause_s=0)
    assert made.admin("/livez").status_code == 200
    assert made.admin("/readyz").status_code == 200
    assert requests.get(f"{url}/v1/stats", timeout=30).status_code == 200

    told = bytearray()

    def drain():
        while piece := os.read(reader, 65536):
            told.extend(piece)

    thread = threading.Thread(target=drain, daemon=True)
    thread.start()

    def reported() -> bool:
        session.post(f"{url}/v1/watches", data=b"{", timeout=30)
        return b"log lines dropped" in told

    wait_until(reported, 60, "the log reports the number of missing lines")


COMMANDS = [
    ["pollerctl", "list"],
    ["pollerctl", "list", "--json"],
    ["pollerctl", "stats", "--json"],
    ["pollerctl", "export"],
    ["pollerctl", "--help"],
    ["pollerctl", "--version"],
    ["pollerd", "check-config"],
    ["pollerd", "check-config", "--describe"],
    ["pollerd", "--version"],
    ["stripe-sandbox", "--help"],
]


def run(cluster: Cluster, command: list[str], output: str) -> subprocess.CompletedProcess:
    words = [program(command[0]), *command[1:]]
    return subprocess.run(
        ["bash", "-c", f'"$@" {output}', "bash", *words],
        env={**os.environ, **cluster.env, "POLLER_URL": cluster.api.url},
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )


@linux
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_output_on_a_full_disk_is_an_error(calm: Cluster, command: list[str]):
    calm.enqueue(calm.sandbox.create_source())
    done = run(calm, [*command, "--state", "open"] if command[-1] == "export" else command, ">/dev/full")
    assert done.returncode == 74, done
    assert "could not be written: No space left on device" in done.stderr


@linux
@pytest.mark.parametrize("command", COMMANDS[:3], ids=" ".join)
def test_closed_output_is_an_error_but_a_closed_pipe_is_not(calm: Cluster, command: list[str]):
    calm.enqueue(calm.sandbox.create_source())
    assert run(calm, command, ">&-").returncode == 74
    assert run(calm, command, "| head -c 0 >/dev/null; exit ${PIPESTATUS[0]}").returncode == 0


@pytest.mark.parametrize("role", ["all", "api", "notifier", "gateway", "worker"])
def test_a_ready_process_accepts_connections(calm: Cluster, role: str):
    """Connects to each listener at once after the readiness probe returns 200."""
    from harness.redis_server import free_port

    binds = {name: free_port() for name in ("API", "GATEWAY", "ADMIN")}
    env = {f"POLLER_{name}_BIND": f"127.0.0.1:{port}" for name, port in binds.items()}
    served = {"all": ["API", "GATEWAY"], "api": ["API"], "notifier": ["GATEWAY"], "gateway": ["GATEWAY"], "worker": []}
    for turn in range(3):
        made = calm.role(f"ready-{role}-{turn}", role, env).start()
        try:
            _wait_for_200(binds["ADMIN"])
            for name in served[role]:
                # A refused connection fails at once.
                requests.get(f"http://127.0.0.1:{binds[name]}/", timeout=30)
            # A killed notifier would leave deliveries of the shared cluster leased for 45 s.
            assert made.terminate() == 0, made.tail()
        finally:
            made.end()
            calm.processes.remove(made)


def _wait_for_200(port: int) -> None:
    def ready() -> bool:
        try:
            return requests.get(f"http://127.0.0.1:{port}/readyz", timeout=30).status_code == 200
        except requests.ConnectionError:
            return False

    wait_until(ready, 60, "the process reports that it is ready", pause_s=0)
