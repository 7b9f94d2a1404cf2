"""Tests how pollerctl shows many payments: account, amount and order, with no line wider than the terminal."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from harness.cluster import Cluster, program
from harness.commands import run
from harness.waiting import wait_until


def on_a_terminal(cluster: Cluster, columns: int, *arguments: str, with_errors: bool = False) -> list[str]:
    """Returns the lines that a terminal of this width shows, optionally with those of standard error."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environ = os.environ | {"POLLER_URL": cluster.api.url, "NO_COLOR": "1"}
    with subprocess.Popen([program("pollerctl"), *arguments], env=environ, stdout=theirs,
                          stderr=theirs if with_errors else None) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65_536):
                shown += part
        except OSError:
            pass  # Linux reports the closed other side as an error.
        finally:
            os.close(ours)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n").splitlines()


@pytest.fixture(scope="module")
def source(shared_cluster: Cluster) -> str:
    source = shared_cluster.follow_new(order="A-4711")
    return source


def test_a_list_has_account_amount_method_order_and_age(calm: Cluster, source: str):
    header, *rows = on_a_terminal(calm, 250, "list", "--limit", "500")
    for name in ("SOURCE", "ACCOUNT", "AMOUNT", "METHOD", "ORDER", "AGE", "NEXT POLL"):
        assert name in header
    row = next(row for row in rows if row.startswith(source))
    assert re.search(r"default +€10.99 +ideal +A-4711 +\d+ (ms|s|min)$", row), row
    # The columns that scripts rely on have not changed.
    done = run("pollerctl", "list", "--limit", "500", env={"POLLER_URL": calm.api.url})
    cells = next(line for line in done.stdout.splitlines() if line.startswith(source)).split("\t")
    assert cells[1:3] == ["open", "pending"] and cells[6] == "awaiting_customer"
    assert cells[7:11] == ["default", "10.99 eur", "ideal", "A-4711"]


@pytest.mark.parametrize("columns", [132, 100, 80, 70])
def test_a_list_is_never_wider_than_the_terminal(calm: Cluster, source: str, columns: int):
    lines = on_a_terminal(calm, columns, "list", "--limit", "500")
    assert max(map(len, lines)) <= columns, "\n".join(lines)
    # The columns that distinguish payments remain.
    for name in ("SOURCE", "STATE", "PAYMENT", "AMOUNT"):
        assert name in lines[0]


def test_a_row_that_does_not_fit_is_shown_as_lines(calm: Cluster, source: str):
    lines = on_a_terminal(calm, 40, "list", "--limit", "500")
    assert max(map(len, lines)) <= 40, "\n".join(lines)
    block = "\n".join(lines).split(source)[1].split("\n\n")[0]
    for fact in (r"state +open", r"payment +awaiting_customer", r"amount +€10.99", r"order +A-4711"):
        assert re.search(rf"^  {fact}$", block, re.M), block


def test_times_are_relative_for_people_and_absolute_for_programs(calm: Cluster, source: str):
    header, *rows = on_a_terminal(calm, 250, "list", "--limit", "500")
    row = next(row for row in rows if row.startswith(source))
    # The source is due soon or overdue, or it is being polled and has no due time.
    assert re.search(r"(in \d+ (ms|s|min)|\d+ (ms|s) ago|now|  -) +awaiting_customer", row), row
    assert not re.search(r"\d{4}-\d\d-\d\dT", "\n".join(rows))
    shown = "\n".join(on_a_terminal(calm, 120, "get", source))
    assert re.search(r"^created +\d{4}-\d\d-\d\dT\S+Z  \((\d+ (s|min) ago|now)\)$", shown, re.M), shown
    assert re.search(r"^deadline +\S+Z  \(in 29 d\)$", shown, re.M), shown
    workers = on_a_terminal(calm, 200, "worker", "list")
    assert re.search(r"\d+ (s|min|h) ago|  now  ", workers[1]), workers
    piped = run("pollerctl", "get", source, env={"POLLER_URL": calm.api.url}).stdout
    assert re.search(r"^created +\d{4}-\d\d-\d\dT\S+Z$", piped, re.M), piped


# Every command with output, as shown in a narrow window.
SHOWN = [
    "list", "get SOURCE", "explain SOURCE", "events SOURCE", "timeline SOURCE", "delivery list", "endpoint list",
    "lane list", "lane get default/sources", "worker list", "stats", "doctor", "audit", "key list", "quarantine list",
    "incident list", "account list", "order list", "order get A-4711", "mail suppressed nobody@example.com", "list --summary", "batch poll order=A-4711",
    "late", "mail list", "dispute due", "order list --paid-twice", "worker departed",
]


@pytest.mark.parametrize("command", SHOWN)
def test_no_line_is_wider_than_sixty_columns_except_single_words(calm: Cluster, source: str, command: str):
    lines = on_a_terminal(calm, 60, *command.replace("SOURCE", source).split())
    wide = [line for line in lines if len(line) > 60 and len(line.split()) > 3]
    assert not wide, "\n".join(wide)


@pytest.mark.parametrize("command", [*SHOWN, "top", "wait SOURCE --until pending", "poll SOURCE", "endpoint secret"])
def test_every_command_prints_json_on_request(calm: Cluster, source: str, command: str):
    done = run("pollerctl", *command.replace("SOURCE", source).split(), "--json", env={"POLLER_URL": calm.api.url})
    assert done.returncode in (0, 1), done.stderr
    for line in done.stdout.splitlines():
        json.loads(line)


def test_top_fits_its_window(calm: Cluster, source: str):
    """The output fits a window of 60 by 20, and q quits."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
    environ = os.environ | {"POLLER_URL": calm.api.url, "NO_COLOR": "1", "TERM": "xterm"}
    with subprocess.Popen([program("pollerctl"), "top"], env=environ, stdin=theirs, stdout=theirs) as process:
        os.close(theirs)
        shown = b""
        while b"\x1b[J" not in shown:
            # A read may end inside a character.
            shown += os.read(ours, 65_536)
        frame = shown.split(b"\x1b[H")[1].split(b"\x1b[J")[0].decode()
        lines = [line.removesuffix("\x1b[K") for line in frame.replace("\r", "").split("\n")]
        assert len(lines) <= 20 and max(map(len, lines)) <= 60, lines
        for said in ("Watches", " dead", "held", "endpoints down", "Polls", "Lag"):
            assert any(said in line for line in lines), lines
        os.write(ours, b"q")
        assert process.wait(60) == 0
        os.close(ours)


def test_deliveries_fit_too_and_keep_their_ids(chaos):
    cluster: Cluster = chaos(workers=1)
    source = cluster.enqueue_new(notify=["http://127.0.0.1:1/refuses-every-connection"])
    shown = ["delivery", "list", "--source", source]
    # The delivery fails with an error message that is longer than the rest of the line.
    wait_until(lambda: any(line.endswith("…") for line in on_a_terminal(cluster, 100, *shown)), 60, "a failure")
    header, *rows = on_a_terminal(cluster, 100, *shown)
    assert "ERROR" in header and max(map(len, rows)) <= 100, rows
    assert all(source in row for row in rows), rows
    # On a terminal the address is shown, and programs still get the ID.
    assert all("  http://127.0.0.1:1" in row for row in rows), rows
    wide = on_a_terminal(cluster, 250, *shown)
    assert "  http://127.0.0.1:1/refuses-every-connection  " in wide[1], wide
    cells = run("pollerctl", *shown, env={"POLLER_URL": cluster.api.url}).stdout.splitlines()[0].split("\t")
    assert cells[2].startswith("ep_"), cells


def test_get_shows_amount_and_customer(calm: Cluster, source: str):
    shown = run("pollerctl", "get", source, env={"POLLER_URL": calm.api.url}).stdout
    assert re.search(r"^money +10.99 eur", shown, re.M), shown
    form = {"type": "ideal", "amount": 1099, "currency": "eur", "owner[name]": "Jenny Rosen"}
    form["redirect[return_url]"] = "https://shop.example.com/thanks"
    named = calm.sandbox._stripe("POST", "/v1/sources", form)["id"]
    calm.follow(named)
    told = run("pollerctl", "get", named, env={"POLLER_URL": calm.api.url}).stdout
    assert re.search(r"^owner +Jenny Rosen$", told, re.M), told
    assert "Jenny" not in shown
