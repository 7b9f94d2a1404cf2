"""Tests the Debian packages of `ops/package` on a separate machine with a real systemd.

The tests depend on their order: bill of materials (`ops/sbom`), installation, a payment through the units, an upgrade,
and a removal that leaves nothing behind.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from harness.cluster import program
from harness.containers import ROOT
from harness.machine import Machine, machine
from harness.waiting import wait_until

ROLES = ("api", "worker", "notifier", "gateway")
UNITS = [f"pollerd@{role}.service" for role in ROLES]
PORTS = {"api": 9090, "worker": 9091, "notifier": 9092, "gateway": 9093}
SECRETS = {
    "POLLER_API_KEYS": "a-key-of-a-test-0123456789",
    "POLLER_MASTER_KEY": "4f1c0de2a9b84c7f9d3a6b1e8c5d7e2f0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "STRIPE_API_KEY": "sk_test_of_a_test_0123456789",
}
CREDENTIALS = "/etc/poller/credentials"
PROGRAMS = ("pollerd", "pollerctl", "stripe-sandbox", "pollerd-bench")
# The highest exposure allowed, on systemd's scale from 0 to 10.
EXPOSURE_MAX = 2.0


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> dict[str, Path]:
    """Returns both packages by name, built from the programs under test."""
    if not shutil.which("dpkg-deb") or not shutil.which("swift"):
        pytest.skip("no dpkg-deb or no swift here: no package was made")
    folder = tmp_path_factory.mktemp("packages")
    env = os.environ | {"POLLER_BIN_DIR": str(Path(program("pollerd")).parent)}
    command = [ROOT / "ops/package", "--fast", str(folder)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return {Path(line).name.split("_")[0]: Path(line) for line in done.stdout.splitlines()}


def test_programs_that_need_a_toolchain_are_packed_for_tests_only(tmp_path: Path):
    if not shutil.which("dpkg-deb") or not shutil.which("swift"):
        pytest.skip("no dpkg-deb or no swift here: no package was made")
    if "libswiftCore" not in subprocess.run(["ldd", program("poller")], capture_output=True, text=True).stdout:
        pytest.skip("the programs under test contain Swift's libraries")
    env = os.environ | {"POLLER_BIN_DIR": str(Path(program("pollerd")).parent)}
    done = subprocess.run([ROOT / "ops/package", str(tmp_path)], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0 and "--static-swift-stdlib" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def lintian(packages: dict[str, Path]) -> Iterator[subprocess.Popen | None]:
    """Starts lintian in the background, which uses one core for half a minute."""
    if not shutil.which("lintian"):
        yield None
        return
    # For the tests the packages are built without compression, and from programs that load the toolchain's libraries.
    suppressed = "uses-no-compression-for-control-tarball,uses-no-compression-for-data-tarball,custom-library-search-path"
    # The spelling check of binaries takes half of lintian's time and yields at most hints about text that is not ours.
    command = ["lintian", "--allow-root", "-X", "binaries/spelling", "--suppress-tags", suppressed, "--fail-on", "error,warning"]
    with subprocess.Popen(
        [*command, *map(str, packages.values())], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        yield process
        process.kill()


@pytest.fixture(scope="module")
def installed(packages: dict[str, Path]) -> Iterator[Machine]:
    """Yields a machine with both packages installed."""
    linked = subprocess.run(["ldd", program("poller")], capture_output=True, text=True, check=True).stdout
    if re.search(r"=> /(root|home)/", linked):
        pytest.skip("the units cannot read a toolchain in a home folder: the package was not installed anywhere")
    made = machine()
    try:
        for path in packages.values():
            made.put(path, f"/tmp/{path.name}")
        made.run("dpkg", "--force-unsafe-io", "-i", *[f"/tmp/{path.name}" for path in packages.values()])
        yield made
    finally:
        made.close()


def ready(machine: Machine, role: str) -> str:
    """Returns the status code of a role's readiness probe."""
    path = f"http://127.0.0.1:{PORTS[role]}/readyz"
    return machine.run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", path, check=False).stdout


def show(machine: Machine, unit: str, name: str) -> str:
    return machine.run("systemctl", "show", "-p", name, "--value", unit).stdout.strip()


def main_pid(machine: Machine, unit: str) -> str | None:
    """Returns the process of a unit, or `None` while it has none."""
    pid = show(machine, unit, "MainPID")
    return None if pid == "0" else pid


@pytest.fixture(scope="module")
def bill(packages: dict[str, Path]) -> dict:
    """Returns the bill of materials that `ops/sbom` wrote for the package."""
    script = 'dpkg-deb --fsys-tarfile "$1" | tar -xO ./usr/share/doc/poller/sbom.cdx.json.gz | zcat'
    done = subprocess.run(["sh", "-c", script, "sh", packages["poller"]], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_bill_of_materials_is_valid_cyclonedx(bill: dict):
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(json.dumps(bill)) is None
    assert validator.validate_str(json.dumps(bill | {"version": "one"})), "it sees what is none"
    references = [part["bom-ref"] for part in bill["components"]]
    assert len(set(references)) == len(references)
    known = {*references, bill["metadata"]["component"]["bom-ref"]}
    for need in bill["dependencies"]:
        assert {need["ref"], *need["dependsOn"]} <= known


def test_direct_dependencies_are_pinned_and_listed_with_their_licences(bill: dict):
    manifest = (ROOT / "Package.swift").read_text()
    declared = re.findall(r'url: "https://(github\.com/[^"]+)",\s*(\w+): "([\d.]+)"', manifest)
    assert len(declared) == manifest.count(".package(") > 10
    parts = {part["purl"]: part for part in bill["components"]}
    (root,) = [need["dependsOn"] for need in bill["dependencies"] if need["ref"] == bill["metadata"]["component"]["bom-ref"]]
    for address, rule, version in declared:
        assert rule == "exact", f"{address} is not pinned to a version"
        purl = f"pkg:swift/{address}@{version}"
        assert purl in root
    for purl, part in parts.items():
        if purl.startswith("pkg:swift/"):
            assert part["licenses"], purl


def test_indirect_dependencies_are_listed_too(bill: dict):
    """Checks for indirect dependencies, the C code in them, Swift itself, and the libraries that the programs load."""
    names = {part["name"]: part for part in bill["components"]}
    assert {"swift-atomics", "swift-asn1", "swift-runtime"} <= names.keys()
    for name in ("boringssl", "llhttp", "zlib"):
        assert names[name]["version"], name
    if shutil.which("dpkg-query"):
        linked = subprocess.run(["ldd", program("pollerd")], capture_output=True, text=True).stdout
        assert ("libhiredis.so" in linked) == ("libhiredis0.14" in names or any(n.startswith("libhiredis") for n in names))
        # The programs load it when they send the first email.
        assert any(name.startswith("libcurl4") for name in names)
        assert names["libc6"]["purl"].startswith("pkg:deb/debian/libc6@")


def test_a_unit_file_grants_few_rights(tmp_path: Path):
    """Checks the unit file alone, before any package is installed."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze here: the unit was not looked at")
    folder = tmp_path / "usr/lib/systemd/system"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "ops/systemd/pollerd@.service", folder)
    command = ["systemd-analyze", "security", "--offline=true", f"--root={tmp_path}", "pollerd@api.service"]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found and float(found[1]) <= EXPOSURE_MAX, done.stdout + done.stderr


def test_the_package_requires_a_systemd_that_loads_a_folder_of_credentials(packages: dict[str, Path]):
    """systemd 251 is the first whose `LoadCredential=` accepts a folder, as its NEWS says."""
    command = ["dpkg-deb", "--field", packages["poller"], "Depends"]
    depends = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"^LoadCredential=poller:{CREDENTIALS}$", (ROOT / "ops/systemd/pollerd@.service").read_text(), re.MULTILINE)
    assert set(re.findall(r"\bsystemd \([^)]*\)|\bsystemd(?= *[|,])", depends)) == {"systemd (>= 251)"}, depends
    assert "systemd 251" in (ROOT / "Sources/Poller/Poller.docc/Guides/Deploying.md").read_text()


def test_the_stop_of_a_unit_takes_longer_than_the_drain():
    unit = (ROOT / "ops/systemd/pollerd@.service").read_text()
    drain = re.search(r"^#POLLER_DRAIN_TIMEOUT=(\d+)s$", (ROOT / "ops/systemd/poller.env").read_text(), re.MULTILINE)
    stop = re.search(r"^TimeoutStopSec=(\d+)s$", unit, re.MULTILINE)
    # Services that exceed the drain timeout get two more periods of five seconds. See NodeProcess.
    assert int(stop[1]) >= int(drain[1]) + 10


@pytest.mark.parametrize("role", ROLES)
def test_every_variable_of_the_environment_files_is_an_option(role: str):
    env = {}
    for name in ("poller", role):
        lines = (ROOT / f"ops/systemd/{name}.env").read_text().splitlines()
        env |= dict(re.findall(r"^#?([A-Z_]+)=(\S+)$", "\n".join(lines), re.MULTILINE))
    env.pop("POLLER_MAIL_FROM", None)  # requires a relay
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("POLLER_", "STRIPE_"))}
    done = subprocess.run([program("pollerd"), "check-config"], env=inherited | env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"{variable}=" in done.stdout for variable in env)


def test_everything_works_once_it_is_installed(installed: Machine, lintian: object, bill: dict):
    version = installed.run("pollerd", "--version").stdout.strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+(-debug)?", version)
    # pollerd finds pollerd-bench without PATH. That program reports the missing redis-server.
    bench = installed.run("env", "PATH=/nonexistent", "/usr/bin/pollerd", "bench", "--only", "json", check=False)
    assert "redis-server is not on PATH" in bench.stderr, bench.stderr
    for name in PROGRAMS:
        assert "USAGE" in installed.run(name, "--help").stdout
        # A warning of the formatter would be at the start of the page.
        page = installed.shell(f"man --warnings=w {name} 2>&1 | cat")
        assert page.startswith(name.upper()), page[:300]
        for path in (f"bash-completion/completions/{name}", f"zsh/vendor-completions/_{name}", f"fish/vendor_completions.d/{name}.fish"):
            installed.run("test", "-s", f"/usr/share/{path}")
    page = installed.shell("man --warnings=w poller-run 2>&1 | cat")
    assert page.startswith("POLLER-RUN"), page[:300]
    completed = installed.run("bash", "-c", ". /usr/share/bash-completion/completions/pollerctl && complete -p pollerctl")
    assert "pollerctl" in completed.stdout
    assert "poller" in installed.run("id", "poller").stdout
    assert installed.run("stat", "-c", "%a %U", CREDENTIALS).stdout.split() == ["700", "root"]
    assert bill["metadata"]["component"]["version"] == version.removesuffix("-debug")


def test_no_unit_runs_before_it_is_enabled(installed: Machine):
    assert not installed.run("systemctl", "list-units", "--no-legend", "--all", "pollerd@*").stdout


def test_a_unit_with_an_invalid_configuration_is_not_restarted(installed: Machine):
    installed.shell("echo POLLER_LEASE=nonsense > /etc/poller/broken.env; echo ROLE=worker >> /etc/poller/broken.env")
    assert installed.run("systemctl", "start", "pollerd@broken", check=False).returncode != 0
    assert show(installed, "pollerd@broken", "ExecMainStatus") == "78"
    assert show(installed, "pollerd@broken", "NRestarts") == "0"
    wait_until(lambda: "POLLER_LEASE" in installed.journal("pollerd@broken"), 60, "the mistake is logged")
    installed.shell("rm /etc/poller/broken.env; systemctl reset-failed")


@pytest.fixture(scope="module")
def running(installed: Machine) -> Machine:
    """Starts all roles with Redis and the Stripe sandbox, with their secrets in files."""
    installed.run("systemctl", "start", "redis-server")
    for name, secret in SECRETS.items():
        installed.run("install", "-m", "600", "/dev/stdin", f"{CREDENTIALS}/{name}", text=secret + "\n")
    installed.shell("echo POLLER_STRIPE_API_BASE=http://127.0.0.1:12111 >> /etc/poller/poller.env")
    installed.run("systemd-run", "--unit=sandbox", "stripe-sandbox", "--bind", "127.0.0.1:12111", "--auto-delay", "0.3")
    # The command returns when the units are ready.
    installed.run("systemctl", "enable", "--now", *UNITS)
    assert {role: ready(installed, role) for role in ROLES} == dict.fromkeys(ROLES, "200")
    return installed


def test_units_run_as_a_user_with_few_rights(running: Machine):
    for unit in UNITS:
        found = running.run("systemd-analyze", "security", unit).stdout
        exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", found)
        assert float(exposure[1]) <= EXPOSURE_MAX, found
        pid = show(running, unit, "MainPID")
        status = dict(re.findall(r"^(\w+):\s+(.*)$", running.run("cat", f"/proc/{pid}/status").stdout, re.MULTILINE))
        assert status["Uid"].split()[0] == running.run("id", "-u", "poller").stdout.strip()
        assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
        told = running.run("cat", f"/proc/{pid}/environ", f"/proc/{pid}/cmdline").stdout
        assert not [name for name, secret in SECRETS.items() if secret in told]
    # All process metrics are present, although the unit can see only its own processes.
    figures = running.run("curl", "-fsS", f"http://127.0.0.1:{PORTS['worker']}/metrics").stdout
    for name in ("cpu_seconds_total", "resident_memory_bytes", "open_fds", "start_time_seconds"):
        assert float(re.search(rf"^process_{name} (\S+)$", figures, re.MULTILINE)[1]) > 0


def test_a_command_on_the_host_uses_the_configuration_of_the_units(running: Machine):
    """Runs commands with the units' configuration. A bare `pollerd` would use another store, or none."""
    told = running.run("poller-run", "--as", "worker", "check-config").stdout
    assert "POLLER_STRIPE_API_BASE=http://127.0.0.1:12111" in told
    assert f"POLLER_ADMIN_BIND=127.0.0.1:{PORTS['worker']}" in told
    assert not [secret for secret in SECRETS.values() if secret in told]
    # The command uses the units' store and decrypts their secrets.
    assert "encrypted again" in running.run("poller-run", "rekey").stdout
    running.run("poller-run", "fsck")
    key = running.run("poller-run", "key", "create", "--name", "ada").stdout.strip()
    assert key.startswith("plr_")
    running.run("env", f"POLLER_API_KEY={key}", "pollerctl", "key", "list")
    # Errors are reported by the command that failed.
    assert running.run("poller-run", "fsck", "--nonsense", check=False).returncode == 64
    assert running.run("poller-run", check=False).returncode == 64
    left = running.run("runuser", "-u", "nobody", "--", "/usr/sbin/poller-run", "fsck", check=False)
    assert left.returncode == 77 and "as root" in left.stderr
    units = ("systemctl", "list-units", "--no-legend", "--all", "poller-run-*")
    wait_until(lambda: not running.run(*units).stdout, 60, "nothing of it is left")


def test_a_payment_is_watched_and_survives_a_restart(running: Machine):
    script = """
    export POLLER_API_KEY=%s STRIPE_API_KEY=%s POLLER_STRIPE_API_BASE=http://127.0.0.1:12111
    source=$(pollerctl source create ideal --amount 1099 --return-url https://shop.example.com/thanks |
        grep -o 'src_[[:alnum:]]*' | head -n 1)
    pollerctl enqueue "$source" --policy interactive > /dev/null
    echo "$source"
    """
    source = running.shell(script % (SECRETS["POLLER_API_KEYS"], SECRETS["STRIPE_API_KEY"])).split()[-1]
    before = {unit: show(running, unit, "MainPID") for unit in UNITS}
    running.run("systemctl", "restart", *UNITS)
    for unit, role in zip(UNITS, ROLES, strict=True):
        assert show(running, unit, "MainPID") != before[unit]
        assert ready(running, role) == "200", "a unit that is started is ready"
        wait_until(lambda: "drained" in running.journal(unit), 60, "it has drained, and was not killed")
    running.shell(f"curl -fsS -o /dev/null -X POST http://127.0.0.1:12111/redirect/{source}/authorize")
    key = f"POLLER_API_KEY={SECRETS['POLLER_API_KEYS']}"
    running.run("env", key, "pollerctl", "wait", source, "--until", "chargeable", "--timeout", "60s")


def test_an_upgrade_restarts_running_units_and_keeps_the_configuration(running: Machine, packages: dict[str, Path]):
    # One more instance waits for a Redis that does not exist.
    waiting = "pollerd@waiting.service"
    options = ("ROLE=worker", "POLLER_ADMIN_BIND=127.0.0.1:9099", "POLLER_REDIS_URL=redis://127.0.0.1:1")
    running.shell(f"printf '%s\\n' {' '.join(options)} > /etc/poller/waiting.env")
    try:
        running.run("systemctl", "start", "--no-block", waiting)
        old = wait_until(lambda: main_pid(running, waiting), 60, "it waits for Redis")
        before = {unit: show(running, unit, "MainPID") for unit in UNITS}
        running.run("dpkg", "--force-unsafe-io", "-i", f"/tmp/{packages['poller'].name}")
        for unit, role in zip(UNITS, ROLES, strict=True):
            assert show(running, unit, "MainPID") != before[unit] and ready(running, role) == "200"
        wait_until(lambda: main_pid(running, waiting) not in (None, old), 60, "it runs the new program")
        assert show(running, waiting, "ActiveState") == "activating" and show(running, waiting, "NRestarts") == "0"
    finally:
        running.run("systemctl", "stop", waiting)
        running.run("rm", "/etc/poller/waiting.env")
    assert "12111" in running.run("cat", "/etc/poller/poller.env").stdout


def test_a_purge_removes_every_file(running: Machine, packages: dict[str, Path]):
    files = running.shell(f"for path in $(dpkg -L {' '.join(packages)}); do [ -d $path ] || echo $path; done").split()
    assert len(files) > 30
    running.run("dpkg", "--remove", *packages)
    assert not running.run("pgrep", "-u", "poller", check=False).stdout
    assert running.run("ls", f"{CREDENTIALS}/STRIPE_API_KEY").stdout, "a removal keeps the configuration"
    running.run("dpkg", "--purge", *packages)
    left = running.shell(f"ls -d {' '.join(files)} 2> /dev/null || true; find /etc /usr/lib/systemd /usr/lib/poller -name '*poller*' 2> /dev/null || true")
    assert not left


def test_lintian_reports_no_problem(lintian: subprocess.Popen | None):
    if lintian is None:
        pytest.skip("no lintian here: the packages were not checked")
    said, _ = lintian.communicate(timeout=600)
    assert lintian.returncode == 0 and not said, said
