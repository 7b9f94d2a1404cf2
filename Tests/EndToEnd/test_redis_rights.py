"""Tests Redis users without rights and servers without commands: the cluster works, or reports the missing ones."""

import json
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness.cluster import WEBHOOK_SECRET, Role, program
from harness.commands import run
from harness.poller_api import PollerAPI
from harness.process import Process
from harness.redis_server import RedisServer
from harness.sandbox import Sandbox
from harness.waiting import wait_until
from harness.webhook_sink import WebhookSink

PASSWORD = "of-the-poller"


@pytest.fixture
def store(tmp_path: Path):
    """Returns a function that starts a redis-server with additional options."""
    made = []

    def make(**options: str) -> RedisServer:
        made.append(RedisServer(tmp_path, tmp_path / "data", options=options).start())
        return made[-1]

    yield make
    for server in made:
        server.end()


@contextmanager
def everything(tmp_path: Path, url: str):
    """Runs `pollerd all` on this store, with the Stripe sandbox."""
    sandbox = Process("sandbox", [program("stripe-sandbox"), "--bind", "127.0.0.1:0", "--auto-delay", "0.3"], tmp_path).start()
    base = sandbox.line(r"^stripe-sandbox listening on (https?://\S+)$").group(1)
    env = {
        "POLLER_REDIS_URL": url, "POLLER_STRIPE_API_BASE": base, "STRIPE_API_KEY": Sandbox.KEY,
        "POLLER_ALLOW_CIDRS": "127.0.0.0/8",
        "POLLER_WEBHOOK_SECRET": WEBHOOK_SECRET,
        **{f"POLLER_{name}_BIND": "127.0.0.1:0" for name in ("API", "GATEWAY", "ADMIN")},
    }
    node = Role("all", [program("pollerd"), "all"], tmp_path, env)
    try:
        yield node.start(), Sandbox(base)
    finally:
        node.end()
        sandbox.end()


def lines(node: Role) -> list[dict]:
    return [json.loads(line) for line in node.stderr().splitlines() if line.startswith("{")]


def a_payment_is_delivered(node: Role, sandbox: Sandbox) -> None:
    sink = WebhookSink(WEBHOOK_SECRET)
    try:
        api = PollerAPI(node.address("api"))
        source = sandbox.create_source()
        answer = api.enqueue(source, policy="interactive", notify=[sink.url])
        assert answer.status_code == 201, answer.text
        sandbox.authorise(source)
        wait_until(lambda: sink.receipts.ids(), 60, "it is delivered")
    finally:
        sink.close()


@pytest.mark.parametrize("rights, missing", [
    ("~poller:* &poller:* +@all -@dangerous +info +role +restore +config|get", []),
    ("~* &* +@all -@dangerous", ["+info", "+config|get"]),
    ("~* &* +@all -@dangerous -@admin -function", ["+info", "+config|get"]),
])
def test_a_user_without_rights_works_and_missing_ones_are_reported(tmp_path, store, rights, missing):
    redis = store()
    with redis.client() as client:
        client.execute_command("ACL", "SETUSER", "poller", "on", f">{PASSWORD}", *rights.split())
    with everything(tmp_path, f"redis://poller:{PASSWORD}@{redis.address}/0") as (node, sandbox):
        node.wait_ready()
        a_payment_is_delivered(node, sandbox)

        def told() -> list[str]:
            return [line["reason"] for line in lines(node) if line["message"] == "a requirement of Redis cannot be checked"]

        for right in missing:
            wait_until(lambda: any(f"ACL SETUSER <name> {right}" in reason for reason in told()), 60, f"{right} is reported")
        assert bool(told()) == bool(missing), told()
        doctor = run("pollerctl", "doctor", env={"POLLER_URL": node.address("api")})
        for right in missing:
            assert right in doctor.stdout, doctor.stdout
        assert "too old" not in doctor.stdout
        # The doctor must not leave the texts of all scripts in Redis, which runs them as functions.
        with redis.client() as client:
            cached = client.info("memory")["number_of_cached_scripts"]
        assert (cached > 0) == ("-function" in rights.split()), cached


@pytest.mark.parametrize("names", [["INFO"], ["CONFIG"], ["CLIENT"], ["ROLE"], ["INFO", "CONFIG"], ["FUNCTION", "FCALL"]])
def test_a_server_without_commands_works(tmp_path, store, names):
    file = tmp_path / "renamed.conf"
    file.write_text("".join(f'rename-command {name} ""\n' for name in names))
    redis = store(include=str(file))
    with everything(tmp_path, redis.url) as (node, sandbox):
        node.wait_ready()
        a_payment_is_delivered(node, sandbox)


@pytest.mark.parametrize("names", [["CONFIG"], ["INFO"]])
def test_an_evicting_server_is_rejected_even_without_some_commands(tmp_path, store, names):
    file = tmp_path / "renamed.conf"
    file.write_text("".join(f'rename-command {name} ""\n' for name in names))
    redis = store(**{"include": str(file), "maxmemory-policy": "volatile-lru"})
    done = run("pollerd", "worker", env={"POLLER_REDIS_URL": redis.url})
    assert done.returncode != 0
    assert "volatile-lru" in done.stderr and "noeviction" in done.stderr
