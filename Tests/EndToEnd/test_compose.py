"""docker-compose.yml and ops/Dockerfile name only things that exist.

Images cannot be pulled everywhere tests run, so each path, program, flag, variable and health check
they name is tried out as it stands, without Docker.
"""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.cluster import Cluster, program
from harness.process import Process
from harness.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
PROGRAMS = ("pollerd", "pollerd-bench", "pollerctl", "stripe-sandbox")


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions with continued lines joined."""
    text = (ROOT / "ops/Dockerfile").read_text()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def of(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def expand(value) -> str:
    """`${NAME:-default}` as Compose writes it when nothing is set."""
    return re.sub(r"\$\{[A-Z_]+(?::?-([^}]*))?\}", lambda m: m.group(1) or "", str(value))


def pollerd_services() -> list[str]:
    return [name for name, service in SERVICES.items() if "pollerd" in service.get("command", [])]


def test_the_parts_of_the_cluster_are_there():
    assert set(SERVICES) == {"redis", "api", "worker", "notifier", "sandbox", "mail"}
    assert SERVICES["worker"]["deploy"]["replicas"] == 2
    for name in ("api", "worker", "notifier"):
        assert SERVICES[name]["command"] == ["pollerd", name]


def test_workers_can_be_scaled():
    # A name or a port of the host can be had only once.
    assert not {"container_name", "ports", "hostname"} & SERVICES["worker"].keys()


def test_ports_are_open_to_this_machine_only():
    for name, service in SERVICES.items():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name} publishes {port}"


def test_redis_keeps_what_it_is_given():
    command = SERVICES["redis"]["command"]
    options = dict(zip(command[1::2], command[2::2]))
    assert options["--appendonly"] == "yes"
    assert options["--maxmemory-policy"] == "noeviction"
    assert SERVICES["redis"]["volumes"] == ["redis-data:/data"]
    assert "redis-data" in COMPOSE["volumes"]


def test_redis_takes_its_command_and_its_health_check(tmp_path: Path):
    command = [*SERVICES["redis"]["command"], "--port", "0", "--dir", str(tmp_path)]
    path = tmp_path / "redis.sock"
    process = Process("redis", [*command, "--unixsocket", str(path)], tmp_path).start()
    try:
        process.line("eady to accept connections", timeout_s=10)
        check = SERVICES["redis"]["healthcheck"]["test"]
        assert check[0] == "CMD"
        if shutil.which(check[1]):
            done = subprocess.run(
                [check[1], "-s", str(path), *check[2:]], capture_output=True, text=True
            )
            assert done.stdout.strip() == "PONG"
    finally:
        process.end()


def test_every_service_waits_for_one_that_exists_and_has_a_health_check():
    for name, service in SERVICES.items():
        for needed in service.get("depends_on", {}):
            assert needed in SERVICES, f"{name} waits for {needed}"
            assert "healthcheck" in SERVICES[needed], f"{needed} never becomes healthy"


def test_configs_are_defined_and_where_the_environment_says():
    for name in pollerd_services():
        service = SERVICES[name]
        for config in service["configs"]:
            assert config["source"] in COMPOSE["configs"]
        targets = [config["target"] for config in service["configs"]]
        assert service["environment"]["POLLER_API_KEYS_FILE"] in targets


def test_the_stop_takes_longer_than_the_drain():
    for name in pollerd_services():
        service = SERVICES[name]
        drain = int(service["environment"]["POLLER_DRAIN_TIMEOUT"].removesuffix("s"))
        assert int(service["stop_grace_period"].removesuffix("s")) > drain


@pytest.mark.parametrize("name", pollerd_services())
def test_every_variable_is_known_and_every_value_accepted(name: str, tmp_path: Path):
    keys = tmp_path / "keys"
    keys.write_text(expand(COMPOSE["configs"]["api-keys"]["content"]))
    env = {key: expand(value) for key, value in SERVICES[name]["environment"].items()}
    env["POLLER_API_KEYS_FILE"] = str(keys)
    for line in of("ENV"):
        env |= dict(pair.split("=", 1) for pair in shlex.split(line))
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("POLLER_", "STRIPE_"))}
    done = subprocess.run(
        [program("pollerd"), "check-config"], env=inherited | env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for variable in env:
        assert f"{variable}=" in done.stdout, f"{variable} means nothing to pollerd"


def test_published_ports_are_those_the_programs_listen_on():
    environment = SERVICES["api"]["environment"]
    assert SERVICES["api"]["ports"][0].endswith(":" + environment["POLLER_API_BIND"].split(":")[-1])
    gateway = environment["POLLER_GATEWAY_BIND"].split(":")[-1]
    assert SERVICES["notifier"]["ports"][0].endswith(":" + gateway)
    exposed = of("EXPOSE")[0].split()
    for variable in ("POLLER_API_BIND", "POLLER_GATEWAY_BIND", "POLLER_ADMIN_BIND"):
        assert environment[variable].split(":")[-1] in exposed


def test_the_gateway_is_where_compose_publishes_it(calm: Cluster):
    assert calm.notifiers[0].address("gateway")


def test_the_image_s_health_check_asks_a_path_that_answers(calm: Cluster):
    (line,) = of("HEALTHCHECK")
    command = json.loads(line.split("CMD", 1)[1])
    url = next(part for part in command if part.startswith("http://"))
    environment = SERVICES["api"]["environment"]
    assert url.split("/")[2].split(":")[1] == environment["POLLER_ADMIN_BIND"].split(":")[-1]
    path = "/" + url.split("/", 3)[3]
    for role in [calm.api_process, *calm.workers, *calm.notifiers]:
        local = [part.replace(url, role.address("admin") + path) for part in command]
        assert subprocess.run(local).returncode == 0, f"{role.name}: {local}"


def test_the_sandbox_takes_its_command_and_its_health_check(tmp_path: Path):
    name, *arguments = SERVICES["sandbox"]["command"]
    local = [argument.replace("0.0.0.0:12111", "127.0.0.1:0") for argument in arguments]
    process = Process("sandbox", [program(name), *local], tmp_path).start()
    try:
        url = process.line(r"listening on (http://\S+)$").group(1)
        kind, *check = SERVICES["sandbox"]["healthcheck"]["test"]
        assert kind == "CMD"
        done = subprocess.run([part.replace("http://127.0.0.1:12111", url) for part in check])
        assert done.returncode == 0
    finally:
        process.end()


def test_the_mail_sink_takes_its_command_and_its_health_check(tmp_path: Path):
    inline = SERVICES["mail"]["build"]["dockerfile_inline"]
    command = json.loads(re.search(r"^CMD (\[.*\])$", inline, re.MULTILINE).group(1))
    assert re.search(r"aiosmtpd==(\S+)", inline).group(1) in (
        ROOT / "Tests/EndToEnd/requirements.txt"
    ).read_text()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    assert command[0] == "python"
    arguments = [part.replace("0.0.0.0:2525", f"127.0.0.1:{port}") for part in command[1:]]
    local = [sys.executable, *arguments]
    process = Process("mail", local, tmp_path).start()
    try:
        kind, _python, *check = SERVICES["mail"]["healthcheck"]["test"]
        assert kind == "CMD"
        local_check = [sys.executable, *[part.replace("2525", port) for part in check]]
        wait_until(
            lambda: subprocess.run(local_check, capture_output=True).returncode == 0,
            10,
            "the mail sink is healthy",
            pause_s=0.2,
        )
    finally:
        process.end()


def test_every_path_the_build_copies_exists_and_reaches_it():
    ignore = (ROOT / "ops/Dockerfile.dockerignore").read_text().split()
    for line in of("COPY"):
        if line.startswith("--from"):
            continue
        for path in line.split()[:-1]:
            assert (ROOT / path).exists(), f"COPY {path}"
            assert f"!{path}" in ignore, f"{path} is kept out of the build by its .dockerignore"


def test_the_build_makes_and_installs_every_program():
    build = next(line for line in of("RUN") if "swift build" in line)
    for name in PROGRAMS:
        assert f"--product {name}" in build
        assert f"$bin/{name}" in build
    # One runtime for all of them, found by what they are linked with, and put where they look for it.
    assert "ldd /out/bin/*" in build and "/out/runtime" in build
    assert "--from=build /out/runtime/ /usr/lib/swift/linux/" in of("COPY")
    manifest = (ROOT / "Package.swift").read_text()
    for name in PROGRAMS:
        assert f'"{name}"' in manifest


def test_the_runtime_that_the_image_carries_is_all_that_the_programs_need(tmp_path: Path):
    """The command that collects it, tried on the programs here; then they start with nothing else of Swift."""
    if not shutil.which("ldd") or not shutil.which("unshare") or os.getuid() != 0:
        pytest.skip("needs ldd, and root to hide the toolchain")
    build = next(line for line in of("RUN") if "swift build" in line)
    collect = build[build.index("ldd /out") :].replace("/out/bin/*", " ".join(map(program, PROGRAMS)))
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    subprocess.run(["sh", "-c", collect.replace("/out/runtime", str(runtime))], check=True, timeout=60)
    linked = subprocess.run(["ldd", program("pollerd")], capture_output=True, text=True, check=True).stdout
    found = re.search(r"=> (/\S+/swift/linux)/", linked)
    assert found, "the programs here are linked with a runtime of their own"
    for name in PROGRAMS:
        script = f"mount --bind {runtime} {found[1]} && exec {program(name)} --help"
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "USAGE" in done.stdout, done.stderr


def test_packages_of_build_and_image_exist_for_this_debian():
    """The image is Debian 12; its package names are looked up where this is one."""
    if not shutil.which("apt-cache") or "bookworm" not in Path("/etc/os-release").read_text():
        pytest.skip("no Debian 12 here")
    for line in of("RUN"):
        for group in re.findall(r"apt-get install -y --no-install-recommends ([^&]+)", line):
            for package in group.split():
                done = subprocess.run(["apt-cache", "show", package], capture_output=True)
                assert done.returncode == 0, f"no package {package}"


def test_the_image_runs_without_root_and_its_programs_find_their_libraries():
    users = of("USER")
    assert users and users[-1] not in ("root", "0")
    final = [line for line in of("RUN") if "libhiredis" in line][-1]
    if not shutil.which("ldd"):
        pytest.skip("no ldd here")
    for name in PROGRAMS:
        linked = subprocess.run(["ldd", program(name)], capture_output=True, text=True).stdout
        if "libhiredis." in linked:
            assert "libhiredis0.14" in final, f"{name} needs libhiredis0.14 in the image"
    # Nobody is linked with it: it is loaded with the first mail.
    assert "libcurl4" in final
