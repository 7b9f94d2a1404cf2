"""Tests that `ops/demo --once` shows one payment on every channel and leaves no process running."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness.cluster import program

# The test compares the running processes before and after.
pytestmark = pytest.mark.alone

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str, **env: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | env, capture_output=True, text=True, timeout=180
    )


def processes() -> set[str]:
    """Returns every process of the project, by PID and command line."""
    listed = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True).stdout
    names = ("pollerd all", "redis-server", "stripe-sandbox")
    return {line.strip() for line in listed.splitlines() if any(name in line for name in names)}


def test_once_settles_a_payment_on_every_channel_and_leaves_nothing_running():
    before = processes()
    done = run("ops/demo", "--once", POLLER_BIN_DIR=str(Path(program("pollerd")).parent))
    assert done.returncode == 0, done.stdout + done.stderr
    for word in ("webhook", "email", "websocket", "redis", "payment.paid", "source.consumed", "pollerctl enqueue", "curl"):
        assert word in done.stdout
    assert "\033[" not in done.stdout, "colours are for terminals"
    assert processes() <= before


def test_once_fails_and_names_the_missing_program(tmp_path: Path):
    for name in ("pollerd", "stripe-sandbox"):
        (tmp_path / name).symlink_to(program(name))
    # A command that reports success without enqueuing.
    shutil.copy(shutil.which("true"), tmp_path / "pollerctl")
    before = processes()
    options = ["--bin-dir", str(tmp_path), "--once", "--patience", "1"]
    done = run(sys.executable, "ops/demo.d/demo.py", *options)
    assert done.returncode == 1
    assert "✗" in done.stdout
    assert processes() <= before


def test_a_wrong_option_is_rejected():
    done = run("ops/demo", "--twice")
    assert done.returncode == 64
    assert "usage: ops/demo [--once]" in done.stderr
