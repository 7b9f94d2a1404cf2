"""Tests that messages name the problem, its place, its cause and the remedy, and are not repeated."""

import json
import time
from pathlib import Path

import pytest

from harness.cluster import Cluster, Role, program
from harness.commands import run
from harness.redis_server import RedisServer
from harness.waiting import wait_until


def log(role: Role) -> list[dict]:
    return [json.loads(line) for line in role.stderr().splitlines() if line.startswith("{")]


def test_an_unconfigured_account_is_rejected(calm: Cluster):
    env = {"POLLER_URL": calm.api.url}
    typed = run("pollerctl", "enqueue", "src_typo", "--account", "typo", env=env)
    assert typed.returncode == 64
    assert "--account names typo, which is not configured (configured: default)" in typed.stderr
    # Stripe's IDs of connected accounts use the platform's key.
    assert run("pollerctl", "enqueue", "src_1", "--account", "acct_1", env=env).returncode == 0


def test_without_a_worker_no_poll_is_promised(chaos):
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False)
    env = {"POLLER_URL": cluster.api.url}
    cluster.enqueue("src_1", notify=[])
    polled = run("pollerctl", "poll", "src_1", env=env)
    assert "is due now and waits: no worker is alive" in polled.stdout
    explained = run("pollerctl", "explain", "src_1", env=env).stdout
    assert "no worker is alive: start one with pollerd worker" in explained
    assert "earliest poll" not in explained


def test_a_rejected_key_is_reported_with_its_setting(chaos, tmp_path: Path):
    config = tmp_path / "poller.yaml"
    config.write_text("accounts: {acme: {stripe_api_key: {env: ACME_KEY}}}\n")
    env = {"POLLER_CONFIG_FILE": str(config), "ACME_KEY": "sk_bad_0123456789abcdef"}
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False, env=env)
    check = {one["name"]: one for one in cluster.api.get("/v1/doctor")["checks"]}["stripe api key"]
    assert check["status"] == "failed" and check["message"].startswith("acme: "), check
    assert "accounts.acme.stripe_api_key of the configuration file" in check["action"], check
    assert "STRIPE_API_KEY" not in check["action"] and "live" not in check["action"], check


def stripe_key_of(cluster: Cluster) -> dict:
    """Returns the doctor's check of the Stripe key, and asserts that no other check failed."""
    report = cluster.api.get("/v1/doctor")
    (check,) = [one for one in report["checks"] if one["name"] == "stripe api key"]
    assert [one for one in report["checks"] if one["status"] == "failed"] in ([], [check]), report
    return check


def test_an_api_without_a_stripe_key_is_healthy(chaos):
    """Only the workers may have the key, so that each role has the least it needs."""
    cluster: Cluster = chaos(listen=False, env={"STRIPE_API_KEY": ""})
    check = stripe_key_of(cluster)
    assert check["status"] == "warning" and "only workers need one" in check["message"], check


def test_a_key_for_payment_intents_alone_is_enough(chaos):
    key = "rk_test_intents_0123456789"
    cluster: Cluster = chaos(listen=False, env={"STRIPE_API_KEY": key})
    cluster.sandbox.grant(key, payment_intents="read")
    check = stripe_key_of(cluster)
    assert check["status"] == "ok" and "not sources" in check["message"], check
    cluster.sandbox.grant(key, charges="read")
    check = stripe_key_of(cluster)
    assert check["status"] == "failed" and "sources or payment intents" in check["action"], check


def test_a_lost_redis_is_reported_once_with_the_cause(tmp_path: Path):
    redis = RedisServer(tmp_path, tmp_path / "redis", fsync="always")
    redis.start()
    env = {f"POLLER_{name}_BIND": "127.0.0.1:0" for name in ("API", "GATEWAY", "ADMIN")}
    env |= {"POLLER_REDIS_URL": redis.url}
    role = Role("all", [program("pollerd"), "all"], tmp_path, env).start().wait_ready()
    try:
        # A separate thread writes the log.
        first, second = wait_until(lambda: len(lines := log(role)) > 1 and lines, 60, "two messages")[:2]
        assert first["message"] == "pollerd starts" and first["version"]
        assert "no Stripe key" in second["message"] and second["level"] == "warning"
        redis.kill9()
        wait_until(
            lambda: [
                line for line in log(role)
                if line["level"] == "error" and line.get("error") == "Connection refused"
            ],
            60, "the cause is logged at ERROR",
        )
        done = run("pollerctl", "doctor", env={"POLLER_URL": role.address("api")})
        failed = [line for line in done.stdout.splitlines() if "redis" in line or "cluster" in line]
        assert len(failed) == 1, done.stdout
        assert "cannot be reached: Connection refused" in failed[0] and "redis://" in failed[0]
        # Long enough for every loop to fail more than once.
        time.sleep(12)
        errors = [line for line in log(role) if line["level"] in ("warning", "error", "critical")]
        assert len(errors) <= 12, errors
        assert all(isinstance(line["attempt"], int) for line in errors if "attempt" in line)
        redis.start()
        wait_until(
            lambda: [line for line in log(role) if line["message"] == "store available again"],
            60, "the recovery is logged",
        )
    finally:
        role.end()
        redis.end()


def test_the_url_of_a_watch_is_found_by_the_endpoint_id_of_its_deliveries(calm: Cluster):
    env = {"POLLER_URL": calm.api.url}
    source = calm.enqueue_new(notify=["http://127.0.0.1:9/nobody"])
    path = f"/v1/deliveries?source={source}"
    delivery = wait_until(lambda: calm.api.get(path)["data"], 60, "a delivery")[0]
    shown = run("pollerctl", "endpoint", "get", delivery["endpoint"], env=env)
    assert shown.returncode == 0 and "http://127.0.0.1:9/nobody" in shown.stdout, shown.stderr
    assert "a --notify URL of watches" in shown.stdout
    assert run("pollerctl", "endpoint", "get", "ep_nope", env=env).returncode == 1
    run("pollerctl", "cancel", source, env=env)


def test_a_suppressed_recipient_is_reported_and_can_be_restored(calm: Cluster):
    env = {"POLLER_URL": calm.api.url}
    address = "bounced@example.com"
    bounce = {"recipient": address, "type": "hard_bounce"}
    calm.api.request("POST", "/v1/mail/bounces", json=bounce).raise_for_status()
    look = ("pollerctl", "mail", "suppressed", address)
    assert f"{address} receives no email (" in run(*look, env=env).stdout
    lifted = run("pollerctl", "mail", "lift", address, env=env)
    assert lifted.returncode == 0 and "receives email again" in lifted.stdout, lifted.stderr
    assert run(*look, env=env).stdout == f"{address} receives email\n"
    wrong = run("pollerctl", "mail", "suppressed", "nobody", env=env)
    assert wrong.returncode == 64 and "address" in wrong.stderr


def test_start_up_names_the_dashboard_and_the_sandbox(tmp_path: Path):
    env = {f"POLLER_{name}_BIND": "127.0.0.1:0" for name in ("API", "GATEWAY", "ADMIN")}
    role = Role("embedded", [program("pollerd"), "all", "--embedded"], tmp_path, env).start()
    try:
        role.wait_ready()
        assert role.line(r"^pollerd dashboard at (\S+)$").group(1) == role.address("api") + "/"
        assert role.line(r"^export SANDBOX=(\S+)$").group(1) == role.address("sandbox")
    finally:
        role.end()


@pytest.mark.parametrize("content", [None, "short\n", ""])
def test_check_config_names_every_wrong_value(tmp_path: Path, content: str | None):
    keys = tmp_path / "keys"
    if content is not None:
        keys.write_text(content)
    wrong = {
        "POLLER_LEASE": "soon", "POLLER_DRAIN_TIMEOUT": "never", "POLLER_API_KEYS_FILE": str(keys),
    }
    done = run("pollerd", "check-config", env=wrong)
    assert done.returncode == 78
    for name in wrong:
        assert done.stderr.count(name) == 1, done.stderr
