"""Tests every script of ops/ for a user without rights: it works, or says what an administrator has to do."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.cluster import program
from harness.plain_user import UID, PlainUser
from harness.redis_server import free_port

BIN_DIR = str(Path(program("pollerd")).resolve().parent)
# Commands that a system has without our packages.
SYSTEM = (
    "awk basename bash cat chmod cmp cp cut date dirname env find getent git grep head id ls mkdir mktemp mv python3 rm sed sh "
    "sort tail touch tr uname xargs"
).split()


@pytest.fixture(scope="module")
def user(tmp_path_factory) -> PlainUser:
    return PlainUser(tmp_path_factory.mktemp("user"))


@pytest.fixture(scope="module")
def bare(tmp_path_factory) -> Path:
    """Returns a PATH without our packages: nothing is installed, apt-get exists, and sudo does not."""
    folder = tmp_path_factory.mktemp("bare")
    for name in SYSTEM:
        (folder / name).symlink_to(shutil.which(name, path="/usr/bin:/bin") or shutil.which(name))
    for name in ("dpkg-query", "apt-get"):
        (folder / name).write_text("#!/bin/sh\nexit 1\n")
        (folder / name).chmod(0o755)
    for parent in (folder, *folder.parents):
        parent.chmod(parent.stat().st_mode | 0o011)
    return folder


def processes() -> list[str]:
    listed = subprocess.run(["ps", "-u", str(UID), "-o", "args="], capture_output=True, text=True).stdout
    return [line for line in listed.splitlines() if "pollerd" in line or "stripe-sandbox" in line]


def test_the_demo_runs_to_the_end(user: PlainUser):
    done = user.run("ops/demo", "--once", POLLER_BIN_DIR=BIN_DIR)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "payment.paid" in done.stdout and "✗" not in done.stdout
    assert not processes(), "nothing is left running"


def test_everything_runs_embedded(user: PlainUser):
    """Runs in a home directory, the only place the user may write to."""
    binds = {f"POLLER_{name}_BIND": f"127.0.0.1:{free_port()}" for name in ("API", "GATEWAY", "ADMIN")}
    script = f"""
    {BIN_DIR}/pollerd all --embedded --data-dir "$HOME/data" > "$HOME/out" 2> "$HOME/err" &
    for _ in $(seq 600); do grep -q '^pollerd ready$' "$HOME/out" && break; sleep 0.1; done
    kill -TERM $!
    wait $!
    """
    done = user.run("bash", "-c", script, **binds)
    assert done.returncode == 0, done.stderr + (user.home / "err").read_text()
    assert "pollerd ready" in (user.home / "out").read_text()
    assert (user.home / "data").is_dir() and not processes()


# The first missing requirement that each script reports.
NEEDS = {
    "demo": "redis-server", "test": "redis-server", "know": "redis-server", "chaos": "redis-server",
    "bench": "redis-server", "plan": "redis-server", "simulate": "swift", "check": "swift", "dependencies": "swift", "sbom": "swift", "package": "dpkg-deb",
    "clients": "POLLER_URL",
}


def test_every_script_is_tested(user: PlainUser):
    scripts = {path.name for path in (user.checkout / "ops").iterdir() if path.is_file() and os.access(path, os.X_OK)}
    # `release` has no further requirements, `rootfs` runs where an image is built, and `screenshots` where documents
    # are written.
    assert scripts - {"release", "rootfs", "screenshots"} == NEEDS.keys()


@pytest.mark.parametrize("name", NEEDS)
def test_each_script_names_a_missing_requirement_and_exits(user: PlainUser, bare: Path, name: str):
    arguments = {"clients": ["made"], "package": ["."]}.get(name, [])
    done = user.run(f"ops/{name}", *arguments, path=str(bare), timeout_s=30)
    said = done.stderr.strip().splitlines()
    assert done.returncode == 1
    assert said and said[-1].startswith("error: "), done.stdout + done.stderr
    assert NEEDS[name] in said[-1], said[-1]
    if NEEDS[name] == "redis-server":
        assert "Run as root: apt-get install" in said[-1]
