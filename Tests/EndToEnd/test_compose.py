"""Tests that docker-compose.yml refers only to programs, flags, variables and checks that exist.

Images cannot be pulled on every test machine, so each part is tried without Docker. `test_compose_for_real.py` runs
the file where Docker is available.
"""

import json
import os
import re
import shlex
import smtplib
import subprocess
import sys
from email.message import EmailMessage
from pathlib import Path

import pytest

from harness.cluster import program
from harness.containers import (
    COMPOSE, MAIL, OURS, ROOT, SERVICES, WITH_STRIPE, expand, of, pollerd_services,
)
from harness.process import Process
from harness.redis_server import free_port
from harness.waiting import wait_until


def test_compose_has_all_services_of_the_cluster():
    assert set(SERVICES) == {"redis", *OURS}
    assert SERVICES["worker"]["deploy"]["replicas"] == 2
    for name in ("api", "worker", "notifier", "gateway"):
        assert SERVICES[name]["command"] == ["pollerd", name]


@pytest.mark.parametrize("name", ["worker", "notifier"])
def test_workers_and_notifiers_can_be_scaled(name: str):
    # Only one container can have a given name or host port.
    assert not {"container_name", "ports", "hostname"} & SERVICES[name].keys()


def test_the_image_is_built_once_and_never_pulled():
    """If every service built the image, an unchanged `up -d` would recreate every container."""
    users = [name for name in OURS if SERVICES[name].get("image") == "poller"]
    assert [name for name in users if "build" in SERVICES[name]] == ["api"]
    assert {SERVICES[name]["pull_policy"] for name in users} == {"never"}


@pytest.mark.parametrize("name", OURS)
def test_every_container_has_minimal_rights(name: str):
    service = SERVICES[name]
    assert service["read_only"] and service["cap_drop"] == ["ALL"] and "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    # A program without a signal handler ignores SIGTERM as process 1, and `down` would take ten seconds.
    assert service["init"]
    # Compose cannot put configs into a read-only container.
    assert not {"configs", "secrets"} & service.keys()


def test_ports_are_published_on_this_machine_only():
    for name, service in SERVICES.items():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name} publishes {port}"


def redis_configuration(folder: Path) -> Path:
    """Writes the configuration file that Compose passes to Redis."""
    path = folder / "redis.conf"
    path.write_text(expand(COMPOSE["configs"]["redis"]["content"]))
    (config,) = SERVICES["redis"]["configs"]
    assert config == {"source": "redis", "target": SERVICES["redis"]["command"][1]}
    return path


def test_redis_persists_its_data_and_requires_a_password(tmp_path: Path):
    """Runs the service's command and health check unchanged, except for paths."""
    command = [expand(part) for part in SERVICES["redis"]["command"]]
    command[1] = str(redis_configuration(tmp_path))
    path = tmp_path / "redis.sock"
    own = ["--port", "0", "--dir", str(tmp_path), "--unixsocket", str(path)]
    process = Process("redis", [*command, *own], tmp_path).start()
    try:
        process.line("eady to accept connections")
        kind, check = SERVICES["redis"]["healthcheck"]["test"]
        assert kind == "CMD-SHELL"
        env = {key: expand(value) for key, value in SERVICES["redis"]["environment"].items()}
        local = check.replace("redis-cli", f"redis-cli -s {path}")
        assert subprocess.run(["sh", "-c", local], env=os.environ | env).returncode == 0
        assert subprocess.run(["sh", "-c", local]).returncode != 0, "it asks for no password"
        url = expand(SERVICES["api"]["environment"]["POLLER_REDIS_URL"])
        assert f":{env['REDISCLI_AUTH']}@" in url
        ask = ["redis-cli", "-s", str(path), "config", "get"]
        for name, value in {
            "appendonly": "yes", "maxmemory-policy": "noeviction", "maxmemory": "1073741824",
        }.items():
            answer = subprocess.run([*ask, name], env=os.environ | env, capture_output=True, text=True)
            assert answer.stdout.split() == [name, value]
    finally:
        process.end()
    assert SERVICES["redis"]["volumes"] == ["redis-data:/data"]
    assert {"redis-data", "sandbox-state"} == COMPOSE["volumes"].keys()


def test_redis_has_five_minutes_to_load_its_data():
    """Compose starts no service whose dependency is unhealthy, and Redis answers no PING while it loads."""
    check = SERVICES["redis"]["healthcheck"]
    assert int(check["interval"].removesuffix("s")) * check["retries"] >= 300


def test_every_service_waits_for_an_existing_service_with_a_health_check():
    for name, service in SERVICES.items():
        for needed in service.get("depends_on", {}):
            assert needed in SERVICES, f"{name} waits for {needed}"
            assert "healthcheck" in SERVICES[needed], f"{needed} never becomes healthy"


@pytest.mark.parametrize("name", pollerd_services())
def test_the_entrypoint_writes_the_key_to_the_file_that_pollerd_reads(name: str, tmp_path: Path):
    """Runs the entrypoint with another folder than the container's."""
    keys = tmp_path / "api-keys"
    environment = SERVICES[name]["environment"]
    entrypoint = [
        expand(part).replace(environment["POLLER_API_KEYS_FILE"], str(keys))
        for part in SERVICES[name]["entrypoint"]
    ]
    mine = {"POLLER_API_KEY": "a-key-of-mine-0123456789"}
    env = {"POLLER_API_KEY": expand(environment["POLLER_API_KEY"], mine)}
    done = subprocess.run(
        [*entrypoint, "echo", "pollerd", "two words"], env=os.environ | env, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout == "pollerd two words\n", done.stderr
    assert keys.read_text() == mine["POLLER_API_KEY"] + "\n"
    assert keys.stat().st_mode & 0o077 == 0


def test_unrelated_variables_of_the_shell_are_not_passed_on():
    """A live key must not reach the sandbox, and the sandbox's key must not reach Stripe."""
    exported = {"STRIPE_API_KEY": "sk_live_x", "POLLER_STRIPE_API_BASE": "http://127.0.0.1:1"}
    for name in pollerd_services():
        environment = SERVICES[name]["environment"]
        assert expand(environment["STRIPE_API_KEY"], exported) == "sk_test_demo"
        assert expand(environment["POLLER_STRIPE_API_BASE"], exported) == "http://sandbox:12111"


def test_with_stripe_both_key_and_address_belong_to_stripe():
    assert set(WITH_STRIPE["services"]) == set(pollerd_services())
    for service in WITH_STRIPE["services"].values():
        environment = service["environment"]
        assert expand(environment["STRIPE_API_KEY"], {"STRIPE_API_KEY": "rk_1"}) == "rk_1"
        assert ":?" in environment["STRIPE_API_KEY"], "without a key it must not start"
        assert environment["POLLER_STRIPE_API_BASE"] == "https://api.stripe.com"


@pytest.mark.parametrize(
    "variable",
    [
        "POLLER_PUBLIC_URL", "POLLER_ALLOW_ORIGINS", "POLLER_ALLOW_CIDRS", "POLLER_LANE_RATE",
        "POLLER_LOG_LEVEL", "STRIPE_WEBHOOK_SECRET",
    ],
)
def test_variables_set_by_an_operator_are_passed_on(variable: str):
    for name in pollerd_services():
        assert expand(SERVICES[name]["environment"][variable], {variable: "mine"}) == "mine"


def test_the_stop_takes_longer_than_the_drain():
    for name in pollerd_services():
        service = SERVICES[name]
        drain = int(service["environment"]["POLLER_DRAIN_TIMEOUT"].removesuffix("s"))
        # Five seconds twice, for services that exceed the drain timeout; see NodeProcess.
        assert int(service["stop_grace_period"].removesuffix("s")) >= drain + 10


@pytest.mark.parametrize("name", pollerd_services())
def test_every_variable_is_known_and_every_value_accepted(name: str, tmp_path: Path):
    keys = tmp_path / "keys"
    env = {key: expand(value) for key, value in SERVICES[name]["environment"].items()}
    keys.write_text(env.pop("POLLER_API_KEY"))  # For pollerctl only.
    env["POLLER_API_KEYS_FILE"] = str(keys)
    for line in of("ENV"):
        env |= dict(pair.split("=", 1) for pair in shlex.split(line))
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("POLLER_", "STRIPE_"))}
    done = subprocess.run(
        [program("pollerd"), "check-config"], env=inherited | env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for variable in env.keys() - {"PATH"}:
        assert f"{variable}=" in done.stdout, f"{variable} means nothing to pollerd"


def test_published_ports_are_those_the_programs_listen_on():
    environment = SERVICES["api"]["environment"]
    assert SERVICES["api"]["ports"][0].endswith(":" + environment["POLLER_API_BIND"].split(":")[-1])
    gateway = environment["POLLER_GATEWAY_BIND"].split(":")[-1]
    assert SERVICES["gateway"]["ports"][0].endswith(":" + gateway)
    exposed = of("EXPOSE")[0].split()
    for variable in ("POLLER_API_BIND", "POLLER_GATEWAY_BIND", "POLLER_ADMIN_BIND"):
        assert environment[variable].split(":")[-1] in exposed


def test_the_sandbox_accepts_its_command_and_health_check(tmp_path: Path):
    name, *arguments = map(expand, SERVICES["sandbox"]["command"])
    folder = arguments[arguments.index("--state") + 1]
    assert SERVICES["sandbox"]["volumes"] == [f"sandbox-state:{folder}"]
    # A new volume gets the folder's owner from the image; test_image.py writes to it as the image's user.
    assert f'mkdir "$root{folder}"' in (ROOT / "ops/rootfs").read_text()
    local = [it.replace("0.0.0.0:12111", "127.0.0.1:0").replace(folder, str(tmp_path)) for it in arguments]
    process = Process("sandbox", [program(name), *local], tmp_path).start()
    try:
        url = process.line(r"listening on (http://\S+)$").group(1)
        kind, *check = SERVICES["sandbox"]["healthcheck"]["test"]
        assert kind == "CMD"
        done = subprocess.run([part.replace("http://127.0.0.1:12111", url) for part in check])
        assert done.returncode == 0
    finally:
        process.end()


def test_the_mail_sink_prints_readable_mails(tmp_path: Path):
    """Runs the command and the health check, and sends a mail with an encoded header and an HTML part."""
    text = (MAIL / "Dockerfile").read_text()
    command = json.loads(re.search(r"^CMD (\[.*\])$", text, re.MULTILINE).group(1))
    requirements = (ROOT / "Tests/EndToEnd/requirements.txt").read_text()
    assert re.search(r"aiosmtpd==(\S+)", text).group(0) in requirements
    port = str(free_port())
    assert command[0] == "python"
    arguments = [part.replace("0.0.0.0:2525", f"127.0.0.1:{port}") for part in command[1:]]
    env = {"PYTHONPATH": str(MAIL), "PYTHONUNBUFFERED": "1"}
    process = Process("mail", [sys.executable, *arguments], tmp_path, env).start()
    try:
        kind, _python, *check = SERVICES["mail"]["healthcheck"]["test"]
        assert kind == "CMD"
        local_check = [sys.executable, *[part.replace("2525", port) for part in check]]
        wait_until(
            lambda: subprocess.run(local_check, capture_output=True).returncode == 0,
            60,
            "the mail sink is healthy",
            pause_s=0.2,
        )
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = "shop@example.com", "a@example.com", "Paid – €10.99"
        mail.set_content("Danke schön, " + "Zeile " * 40)
        mail.add_alternative("<p>Danke schön</p>", subtype="html")
        with smtplib.SMTP("127.0.0.1", int(port), timeout=60) as client:
            client.send_message(mail)
        process.line("^Subject: Paid – €10.99$")
        process.line("^Danke schön, Zeile Zeile")
        assert "=C3" not in process.stdout() and "<p>" not in process.stdout()
    finally:
        process.end()
