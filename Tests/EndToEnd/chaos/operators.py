"""Faults from operators' reports: a log, address, upstream, mail relay or store that fails for some seconds."""

import fcntl
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import requests
from harness.cluster import Cluster, Role
from harness.moody_relay import MoodyRelay
from harness.sandbox import Sandbox
from harness.two_addresses import TwoAddresses
from harness.waiting import wait_until

# The smallest size of a pipe, one page. A few log lines fill it.
PIPE_BYTES = 4096

# Greylisting replies to an unknown sender, with a temporary and a permanent code.
GREYLISTED = (
    "450 4.2.0 You have been greylisted, try again in 5 minutes",
    "550 You have been greylisted, try again in 5 minutes",
)
REFUSED_BY_POLICY = "550 5.7.1 Message rejected due to policy"


def restart(process: Role, pause_s: float = 0) -> None:
    """Drains a process and starts it again after a pause."""
    status = process.terminate()
    assert status == 0, f"{process.name} drained with {status}\n{process.tail()}"
    time.sleep(pause_s)
    process.start().wait_ready(timeout_s=60)


# MARK: - Logs


@contextmanager
def _standard_error(process: Role, target: str, inherited: tuple[int, ...] = ()) -> Iterator[None]:
    """Restarts a process with another standard error, and at the end restarts it with its usual log."""
    command, env = process.command, process.env
    process.command = ["bash", "-c", f'exec "$@" 2>{target}', "bash", *command]
    # The usual level logs too few lines for the fault to have an effect.
    process.env = env | {"POLLER_LOG_LEVEL": "trace"}
    process.inherited = inherited
    try:
        restart(process)
        yield
    finally:
        process.command, process.env, process.inherited = command, env, ()
    restart(process)


def _wait_answering(process: Role, fact: Callable[[], bool], what: str) -> None:
    """Waits for a fact that the process itself reports.

    On a busy machine its response may be late.
    """

    def found() -> bool:
        with suppress(requests.RequestException):
            return fact()
        return False

    wait_until(found, 60, f"{process.name} {what}", pause_s=0.1)


def fill_log(process: Role, span: float, _: float) -> None:
    """Writes the log of a process to a full disk."""
    with _standard_error(process, "/dev/full"):
        _wait_answering(
            process, lambda: process.metric("poller_log_lines_dropped_total") > 0, "counts dropped log lines"
        )
        time.sleep(1 + span)
        _wait_alive(process)


def stall_log(process: Role, span: float, _: float) -> None:
    """Writes the log of a process to a pipe whose reader stops for some seconds."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    with _standard_error(process, f"&{writer}", (writer,)):
        os.close(writer)
        time.sleep(2 + 2 * span)
        _wait_alive(process)
        threading.Thread(target=_copy, args=(reader, process.err), daemon=True).start()


def _wait_alive(process: Role) -> None:
    _wait_answering(process, lambda: process.admin("/livez").status_code == 200, "answers its liveness probe")


def _copy(reader: int, log: Path) -> None:
    """Reads a pipe to its end, into the log file that failed runs show."""
    with os.fdopen(reader, "rb") as source, log.open("ab") as target:
        shutil.copyfileobj(source, target)


# MARK: - Peers


def refuse_first_address(receiver: TwoAddresses, span: float, _: float) -> None:
    """Makes the first of a receiver's two addresses refuse connections."""
    before = receiver.detours
    receiver.refuse()
    try:
        time.sleep(2 + 2 * span)
        with suppress(AssertionError):
            # Without a delivery in this time the fault changes nothing: notifiers may be frozen, or idle.
            wait_until(lambda: receiver.detours > before, 10, "a connection to the second address")
    finally:
        receiver.accept()


def show_maintenance_page(sandbox: Sandbox, span: float) -> float:
    """Makes the upstream respond to every read with an HTML page and status 200.

    Returns the end of the fault, in ms since 1970.
    """
    page = sandbox.fault("html", "/v1/", method="GET")
    try:
        time.sleep(2 + 2 * span)
    finally:
        sandbox.clear_fault(page)
    return time.time() * 1000


def greylist(relay: MoodyRelay, span: float, which: float) -> None:
    """Makes the relay refuse every mail as greylisted, with a temporary or a permanent code."""
    _refuse(relay, GREYLISTED[int(which * len(GREYLISTED))], span)


def refuse_by_policy(relay: MoodyRelay, span: float, _: float) -> None:
    """Makes the relay refuse every mail for policy."""
    _refuse(relay, REFUSED_BY_POLICY, span)


def _refuse(relay: MoodyRelay, refusal: str, span: float) -> None:
    relay.refusal = refusal
    time.sleep(2 + 2 * span)
    relay.refusal = ""


def greet_late(relay: MoodyRelay, span: float, _: float) -> None:
    """Cuts the relay's connections, and delays its greeting on new ones for some seconds."""
    relay.way.is_stalled = True
    relay.way.cut()
    time.sleep(3 + 5 * span)
    relay.way.is_stalled = False


# MARK: - The store


def start_while_evicting(cluster: Cluster, span: float) -> None:
    """Checks that a worker refuses to start while the store may evict keys, and starts afterwards.

    Without `maxmemory` Redis evicts nothing under any policy, so the running processes lose no data.
    """
    newcomer = cluster.role("newcomer", "worker")
    try:
        with cluster.redis.client() as client:
            assert client.config_get("maxmemory")["maxmemory"] == "0", "Redis would evict its data"
            client.config_set("maxmemory-policy", "allkeys-lru")
            try:
                newcomer.start()
                wait_until(lambda: not newcomer.running, 60, "a worker refuses to start on a store that evicts")
                time.sleep(span)
            finally:
                client.config_set("maxmemory-policy", "noeviction")
        assert newcomer.exit_status != 0 and "noeviction" in newcomer.stderr(), newcomer.tail()
        newcomer.start().wait_ready(timeout_s=60)
    finally:
        newcomer.end()
        cluster.processes.remove(newcomer)
