"""Tests that `pollerd all --embedded` starts the whole system with one command and ends all of it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import redis
import requests

from harness.cluster import Role, program
from harness.poller_api import PollerAPI
from harness.sandbox import Sandbox
from harness.waiting import wait_until

ENV = {f"POLLER_{name}_BIND": "127.0.0.1:0" for name in ("API", "GATEWAY", "ADMIN")}


@pytest.fixture
def embedded(tmp_path: Path):
    command = [program("pollerd"), "all", "--embedded", "--data-dir", str(tmp_path / "data")]
    role = Role("pollerd", command, tmp_path, ENV).start()
    try:
        yield role.wait_ready()
    finally:
        role.end()


def redis_url(role: Role) -> str:
    return role.line(r"^pollerd redis listening on (redis://\S+)$").group(1)


def test_it_starts_everything_that_a_first_trial_needs(embedded: Role):
    sandbox = Sandbox(embedded.address("sandbox"))
    api = PollerAPI(embedded.address("api"))
    source = sandbox.create_source()
    assert api.enqueue(source, policy="interactive").status_code == 201
    wait_until(lambda: api.watch(source)["status"] == "pending", 60, "polled")
    assert redis.Redis.from_url(redis_url(embedded)).ping()
    # A plain GET reaches the gateway, which requires an upgrade.
    plain = requests.get(embedded.address("gateway") + "/v1/stream", timeout=60)
    assert plain.status_code in (400, 426)


def test_child_processes_inherit_no_secret(tmp_path: Path):
    secret = "CANARY-of-the-environment"
    env = ENV | {"STRIPE_WEBHOOK_SECRET": f"whsec_{secret}", "UNRELATED": secret}
    command = [program("pollerd"), "all", "--embedded", "--data-dir", str(tmp_path / "data")]
    role = Role("pollerd", command, tmp_path, env).start()
    try:
        role.wait_ready()
        beside = [pid for pid in role.leftovers() if pid != role.pid]
        assert len(beside) >= 2, "redis-server and stripe-sandbox"
        for pid in beside:
            assert secret.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
    finally:
        role.end()


@pytest.mark.parametrize("exported, said", [
    ({"POLLER_STRIPE_API_BASE": "http://127.0.0.1:1"}, "because POLLER_STRIPE_API_BASE is set; unset it"),
    ({"POLLER_STRIPE_API_BASE": "http://127.0.0.1:1", "STRIPE_API_KEY": "sk_test_x"},
     "because STRIPE_API_KEY and POLLER_STRIPE_API_BASE are set; unset them"),
])
def test_it_reports_when_no_sandbox_is_started(tmp_path: Path, exported: dict, said: str):
    command = [program("pollerd"), "all", "--embedded", "--data-dir", str(tmp_path / "data")]
    role = Role("pollerd", command, tmp_path, ENV | exported).start()
    try:
        role.wait_ready()
        role.line(rf"^pollerd starts no stripe-sandbox, {said}")
        assert not any("stripe-sandbox" in Path(f"/proc/{pid}/cmdline").read_text() for pid in role.leftovers())
    finally:
        role.end()


def test_sigterm_ends_all_of_it(embedded: Role):
    url = redis_url(embedded)
    assert embedded.terminate() == 0, embedded.tail()
    assert embedded.leftovers() == []
    with pytest.raises(redis.ConnectionError):
        redis.Redis.from_url(url).ping()


def test_a_second_sigterm_leaves_nothing_running(embedded: Role):
    embedded.signal(15)
    wait_until(lambda: "draining" in embedded.stderr(), 60, "the drain is logged")
    if embedded.running:
        embedded.signal(15)
    wait_until(lambda: not embedded.running, 60, "ended")
    assert embedded.leftovers() == []


def test_data_is_kept_if_a_folder_is_configured(embedded: Role):
    api = PollerAPI(embedded.address("api"))
    source = Sandbox(embedded.address("sandbox")).create_source()
    assert api.enqueue(source).status_code == 201
    assert embedded.terminate() == 0
    embedded.start().wait_ready()
    assert PollerAPI(embedded.address("api")).watch(source)["source"] == source


def test_the_sandbox_ends_with_pollerd(embedded: Role):
    sandbox = embedded.address("sandbox")
    assert requests.get(sandbox + "/_sandbox/clock", timeout=60).ok
    embedded.kill9()

    def is_gone() -> bool:
        try:
            requests.get(sandbox + "/_sandbox/clock", timeout=60)
            return False
        except requests.ConnectionError:
            return True

    wait_until(is_gone, 60, "the sandbox has ended")


def test_pollerd_ends_with_the_sandbox(embedded: Role):
    listed = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True).stdout
    found = {int(line.split()[0]) for line in listed.splitlines() if "stripe-sandbox" in line}
    for pid in found & set(embedded.leftovers()):
        subprocess.run(["kill", "-9", str(pid)], check=True)
    wait_until(lambda: not embedded.running, 60, "ended")
    assert "the embedded stripe-sandbox has ended" in embedded.stderr()
    assert embedded.leftovers() == []


def test_programs_are_found_next_to_pollerd_in_a_configured_folder_and_on_the_path(tmp_path: Path):
    alone = tmp_path / "pollerd"
    shutil.copy(program("pollerd"), alone)
    env = {"PATH": str(Path(shutil.which("redis-server")).parent)}
    command = [str(alone), "all", "--embedded"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 78 and "STRIPE_API_KEY" in done.stderr, done.stderr
    assert "swift build --product stripe-sandbox" in done.stderr
    done = subprocess.run([str(alone), "bench"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 78 and "pollerd-bench" in done.stderr, done.stderr
    folder = str(Path(program("stripe-sandbox")).parent)
    for where in ({"POLLER_BIN_DIR": folder}, {"PATH": f"{env['PATH']}:{folder}"}):
        role = Role("pollerd", command, tmp_path, ENV | where).start()
        try:
            role.wait_ready()
        finally:
            role.end()


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in [folder, *folder.rglob("*")]}


def test_no_other_user_of_the_machine_can_read_its_data(tmp_path: Path):
    folder = tmp_path / "data"
    command = [program("pollerd"), "all", "--embedded", "--data-dir", str(folder)]
    role = Role("pollerd", command, tmp_path, ENV).start()
    try:
        url = redis_url(role.wait_ready())
        assert set(modes(folder).values()) == {0o700, 0o600}, modes(folder)
        assert folder.stat().st_mode & 0o777 == 0o700
        password = url.split(":")[2].split("@")[0]
        public = url.replace(f":{password}@", "")
        with pytest.raises(redis.AuthenticationError):
            redis.Redis.from_url(public).keys("*")
        for pid in role.leftovers():
            assert password not in Path(f"/proc/{pid}/cmdline").read_text()
        # The next start makes the folder private again, which protects all files in it.
        assert role.terminate() == 0
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        again = redis_url(role.start().wait_ready())
        assert folder.stat().st_mode & 0o777 == 0o700
        assert password not in again, "a password for each start"
    finally:
        role.end()


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
def test_the_user_nobody_can_read_no_secret(embedded: Role, tmp_path: Path):
    secret = PollerAPI(embedded.address("api")).request("POST", "/v1/endpoints", json={"url": "http://127.0.0.1:9/"})
    secret = secret.json()["secret"]
    url = redis_url(embedded)
    port = url.rsplit(":", 1)[1].split("/")[0]
    # The parent folders belong to pytest and are private too.
    for folder in [tmp_path, *tmp_path.parents]:
        if folder.is_dir() and not folder.stat().st_mode & 0o005:
            folder.chmod(folder.stat().st_mode | 0o055)

    def as_nobody(command: str) -> str:
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/sh", "-c", command]
        run = subprocess.run(words, capture_output=True, text=True, timeout=60)
        return run.stdout + run.stderr

    assert "Permission denied" in as_nobody(f"ls {tmp_path}/data")
    assert "whsec_" not in as_nobody(f"cat {tmp_path}/data/* {tmp_path}/data/*/* {tmp_path}/pollerd.1.out")
    assert "NOAUTH" in as_nobody(f"redis-cli -p {port} --scan")
    # With the password, the same commands show the secret.
    assert secret in everything(url)


def everything(url: str) -> str:
    """Returns the contents of all hashes of a store as text."""
    store = redis.Redis.from_url(url)
    hashes = [store.hgetall(key) for key in store.keys("*") if store.type(key) == b"hash"]
    return " ".join(value.decode(errors="replace") for values in hashes for value in values.values())


def test_the_password_is_written_to_no_file_that_others_can_read(tmp_path: Path):
    log = tmp_path / "open.out"
    log.touch(0o644)
    log.chmod(0o644)
    command = [program("pollerd"), "all", "--embedded", "--data-dir", str(tmp_path / "data")]
    with open(log, "ab") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=os.environ | ENV)
    try:
        wait_until(lambda: "pollerd ready" in log.read_text(), 60, "ready")
        password = (tmp_path / "data" / "redis.conf").read_text().split()[1]
        assert password not in log.read_text()
        assert f"(password in {tmp_path}/data/redis.conf)" in log.read_text()
    finally:
        child.terminate()
        child.wait(60)
