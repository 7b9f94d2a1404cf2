"""Tests `stripe-sandbox --state`: the state survives a kill at any moment, and a damaged file is left untouched."""

import json
import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from harness.cluster import program
from harness.process import Process
from harness.redis_server import free_port
from harness.sandbox import Sandbox
from harness.waiting import wait_until

NAME = "stripe-sandbox.json"


class Kept:
    """A sandbox with stored state that keeps its port across restarts."""

    def __init__(self, folder: Path, *options: str):
        self.file = folder / NAME
        self.port = free_port()
        arguments = [program("stripe-sandbox"), "--bind", f"127.0.0.1:{self.port}", "--state", str(folder), *options]
        self.process = Process("sandbox", arguments, folder)
        self.client = Sandbox(f"http://127.0.0.1:{self.port}")

    def start(self) -> Sandbox:
        self.process.start()
        self.process.line("listening on")
        return self.client

    def knows(self, *ids: str) -> bool:
        """Returns whether the file contains all of these IDs."""
        text = self.file.read_text() if self.file.exists() else ""
        return all(id in text for id in ids)

    def settles(self, *ids: str) -> None:
        wait_until(lambda: self.knows(*ids), 60, f"{ids} are kept", pause_s=0.01)

    def written(self) -> int:
        return self.file.stat().st_mtime_ns


@pytest.fixture
def kept(tmp_path: Path):
    made = []

    def make(*options: str) -> Kept:
        made.append(Kept(tmp_path, *options))
        return made[-1]

    yield make
    for one in made:
        one.process.end()


def test_objects_and_pending_changes_survive_a_kill(kept):
    it = kept("--auto-delay", "3600")
    stripe = it.start()
    waiting, paid = stripe.create_source(), stripe.create_source()
    stripe.authorise(paid)
    form = {"source": paid, "amount": 1099, "currency": "eur"}
    once = {"headers": {"Idempotency-Key": "order-7"}, "auth": (stripe.KEY, ""), "data": form}
    charge = stripe._call("POST", "/v1/charges", **once)["id"]
    # A future event: the bank answers this charge an hour later.
    debit = stripe._stripe("POST", "/v1/sources", {
        "type": "sepa_debit", "currency": "eur", "sepa_debit[iban]": "DE89370400440532013000", "owner[name]": "Ada",
    })["id"]
    late = stripe._stripe("POST", "/v1/charges", {"source": debit, "amount": 500, "currency": "eur"})
    assert late["status"] == "pending"
    # A customer's saved card and saved payment method.
    customer = stripe._stripe("POST", "/v1/customers", {"source": "tok_visa", "address[city]": "Ulm"})["id"]
    method = stripe._stripe("POST", "/v1/payment_methods/pm_card_visa/attach", {"customer": customer})["id"]
    before = {path: stripe._stripe("GET", path) for path in (
        f"/v1/sources/{waiting}", f"/v1/sources/{paid}", f"/v1/charges/{charge}", "/v1/events?limit=100",
        "/v1/balance_transactions", f"/v1/customers/{customer}?expand[]=sources", f"/v1/payment_methods?customer={customer}",
    )}
    it.settles(late["id"], method)
    it.process.kill9()
    it.start()
    assert {path: stripe._stripe("GET", path) for path in before} == before
    # The idempotency key still returns the same charge. Otherwise a poller's retry after the kill would pay twice.
    assert stripe._call("POST", "/v1/charges", **once)["id"] == charge
    # New IDs do not repeat old ones, and the scheduled answer still happens.
    assert stripe.create_source() not in (waiting, paid, debit)
    stripe._call("POST", "/_sandbox/clock/advance", json={"seconds": 3601})
    wait_until(lambda: stripe._stripe("GET", f"/v1/charges/{late['id']}")["status"] == "succeeded", 60, "the bank answers")


def test_kills_at_any_moment_leave_a_valid_file_without_the_newest_objects(kept):
    it = kept()
    stripe = it.start()
    made: list[str] = []
    for round in range(6):
        for _ in range(20 + 7 * round):
            made.append(stripe.create_source())
        wait_until(it.file.exists, 60, "it was written once")
        it.process.kill9()
        json.loads(it.file.read_text())
        it.start()
        found = [id for id in made if it.knows(id)]
        # Only the newest objects can be lost, never one in the middle.
        assert found == made[:len(found)]
        for id in found[-3:]:
            assert stripe.source(id)["id"] == id
        made = found
    stripe.create_source()
    last = stripe.create_source()
    # A normal stop loses nothing.
    assert it.process.terminate() == 0
    assert it.knows(last)
    assert stat.S_IMODE(os.stat(it.file).st_mode) == 0o600


def test_reads_do_not_write_the_file_and_writes_are_batched(kept):
    it = kept()
    stripe = it.start()
    source = stripe.create_source()
    it.settles(source)
    time.sleep(0.5)
    before = it.written()
    for _ in range(20):
        stripe.source(source)
        stripe.history()
    time.sleep(0.5)
    assert it.written() == before
    began, seen = time.monotonic(), {before}

    def has_written_six_times() -> bool:
        stripe.create_source()
        seen.add(it.written())
        return len(seen) > 6

    wait_until(has_written_six_times, 60, "six writes", pause_s=0)
    # At least a fifth of a second passes between two writes.
    assert time.monotonic() - began > 5 * 0.2 * 0.9


@pytest.mark.parametrize("content, reason", [
    ("", "damaged"), ('{"format": 2, "state": {"ids"', "damaged"), ('{"format": 2, "state": {}}', "damaged"),
    ('{"format": 99, "state": {}}', "another release"),
])
def test_an_unreadable_file_is_not_changed_and_the_error_names_the_remedy(tmp_path: Path, content: str, reason: str):
    file = tmp_path / NAME
    file.write_text(content)
    for path in (tmp_path, file):
        done = subprocess.run(
            [program("stripe-sandbox"), "--bind", "127.0.0.1:0", "--state", str(path)], capture_output=True, text=True, timeout=30
        )
        assert done.returncode == 1 and "listening" not in done.stdout
        assert reason in done.stderr and str(file) in done.stderr and "move it away" in done.stderr, done.stderr
        assert file.read_text() == content
    assert [entry.name for entry in tmp_path.iterdir()] == [NAME]


def test_a_missing_folder_is_reported(tmp_path: Path):
    done = subprocess.run(
        [program("stripe-sandbox"), "--bind", "127.0.0.1:0", "--state", str(tmp_path / "none/state.json")],
        capture_output=True, text=True, timeout=30,
    )
    assert done.returncode == 1 and "make it" in done.stderr, done.stderr


def test_options_of_the_last_start_apply(kept):
    """A restart updates the command line's webhook instead of adding one. With a new time scale the clock continues."""
    secret = "whsec_0123456789abcdef0123456789abcdef"
    it = kept("--webhook", "http://127.0.0.1:1/before", "--webhook-secret", secret, "--time-scale", "3600")
    stripe = it.start()
    id = stripe.create_source()
    it.settles(id)
    first = stripe._call("GET", "/_sandbox/clock")["now_ms"]
    it.process.kill9()
    other = kept("--webhook", "http://127.0.0.1:1/after", "--webhook-secret", secret)
    stripe = other.start()
    hooks = stripe._stripe("GET", "/v1/webhook_endpoints")["data"]
    assert [hook["url"] for hook in hooks] == ["http://127.0.0.1:1/after"]
    began = time.monotonic()
    now = stripe._call("GET", "/_sandbox/clock")["now_ms"]
    # The clock did not go back, and it no longer advances an hour per second.
    assert now >= first
    time.sleep(1)
    passed = stripe._call("GET", "/_sandbox/clock")["now_ms"] - now
    assert 900 <= passed <= (time.monotonic() - began) * 1000 + 100
    assert stripe.source(id)["id"] == id
