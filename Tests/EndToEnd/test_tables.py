"""What a person sees of many payments: who, how much, for which order; and no line wider than the terminal."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from harness.cluster import Cluster, program
from harness.waiting import wait_until
from test_command_line import run


def on_a_terminal(cluster: Cluster, columns: int, *arguments: str) -> list[str]:
    """The lines that a terminal of so many columns shows."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environ = os.environ | {"POLLER_URL": cluster.api.url, "NO_COLOR": "1"}
    with subprocess.Popen([program("pollerctl"), *arguments], env=environ, stdout=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65_536):
                shown += part
        except OSError:
            pass  # Linux says so when the other side is closed.
        finally:
            os.close(ours)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n").splitlines()


@pytest.fixture(scope="module")
def source(shared_cluster: Cluster) -> str:
    source = shared_cluster.sandbox.create_source()
    shared_cluster.enqueue(source, order="A-4711")
    shared_cluster.wait_status(source, "pending")
    return source


def test_a_list_has_account_sum_method_order_and_age(calm: Cluster, source: str):
    header, *rows = on_a_terminal(calm, 250, "list", "--limit", "500")
    for name in ("SOURCE", "ACCOUNT", "AMOUNT", "METHOD", "ORDER", "AGE", "NEXT POLL"):
        assert name in header
    row = next(row for row in rows if row.startswith(source))
    assert re.search(r"default +1099 eur +ideal +A-4711 +\d+ (ms|s|min)$", row), row
    # The places that scripts know stay as they were.
    done = run("pollerctl", "list", "--limit", "500", env={"POLLER_URL": calm.api.url})
    cells = next(line for line in done.stdout.splitlines() if line.startswith(source)).split("\t")
    assert cells[1:3] == ["open", "pending"] and cells[6] == "awaiting_customer"
    assert cells[7:11] == ["default", "1099 eur", "ideal", "A-4711"]


@pytest.mark.parametrize("columns", [132, 100, 80, 70])
def test_a_list_is_never_wider_than_the_terminal(calm: Cluster, source: str, columns: int):
    lines = on_a_terminal(calm, columns, "list", "--limit", "500")
    assert max(map(len, lines)) <= columns, "\n".join(lines)
    # What tells payments apart stays.
    for name in ("SOURCE", "STATE", "PAYMENT", "AMOUNT"):
        assert name in lines[0]


def test_deliveries_fit_too_and_keep_their_ids(chaos):
    cluster: Cluster = chaos(workers=1)
    source = cluster.sandbox.create_source()
    cluster.enqueue(source, notify=["http://127.0.0.1:1/refuses-every-connection"])
    shown = ["delivery", "list", "--source", source]
    # It fails with a sentence that is longer than what is left of the line.
    wait_until(lambda: any("…" in line for line in on_a_terminal(cluster, 100, *shown)), 20, "a failure")
    header, *rows = on_a_terminal(cluster, 100, *shown)
    assert "ERROR" in header and max(map(len, rows)) <= 100, rows
    assert all(source in row for row in rows), rows


def test_get_says_how_much_and_who(calm: Cluster, source: str):
    shown = run("pollerctl", "get", source, env={"POLLER_URL": calm.api.url}).stdout
    assert re.search(r"^money +1099 eur", shown, re.M), shown
    form = {"type": "ideal", "amount": 1099, "currency": "eur", "owner[name]": "Jenny Rosen"}
    form["redirect[return_url]"] = "https://shop.example.com/thanks"
    named = calm.sandbox._stripe("POST", "/v1/sources", form)["id"]
    calm.enqueue(named)
    calm.wait_status(named, "pending")
    told = run("pollerctl", "get", named, env={"POLLER_URL": calm.api.url}).stdout
    assert re.search(r"^owner +Jenny Rosen$", told, re.M), told
    assert "Jenny" not in shown
