"""Tests where keys are sent, that public listeners need consent, and where secrets may be stored."""

import os
import re
import socket
import subprocess
from pathlib import Path

import pytest
import stripe
from harness.cluster import WEBHOOK_SECRET, program
from harness.process import Process
from harness.sandbox import Sandbox
from harness.stripe_lab import Hook, StripeLab
from harness.waiting import wait_until
from test_command_line import described

SANDBOX = "http://127.0.0.1:12111"
SECRETS = {
    "POLLER_REDIS_URL": "redis://user:canary-redis@127.0.0.1:6379/0",
    "STRIPE_API_KEY": "sk_test_canary",
    "STRIPE_WEBHOOK_SECRET": "whsec_canary",
    "POLLER_SMTP_URL": "smtps://user:canary@mail.example:465",
    "POLLER_WEBHOOK_SECRET": WEBHOOK_SECRET,
    "POLLER_OTLP_HEADERS": "authorization=Bearer%20canary",
    "POLLER_MASTER_KEY": "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210",
}


def run(name: str, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("POLLER_", "STRIPE_"))}
    return subprocess.run(
        [program(name), *arguments], env=inherited | (env or {}), capture_output=True, text=True, timeout=60
    )


def check(*arguments: str, **env: str) -> subprocess.CompletedProcess:
    return run("pollerd", "check-config", *arguments, env=env)


def kept(folder: Path, text: str, mode: int = 0o600) -> str:
    path = folder / f"secret-{len(list(folder.iterdir()))}"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


# Where keys are sent.


@pytest.mark.parametrize("base", [SANDBOX, "http://localhost:12111", "http://proxy.example"])
@pytest.mark.parametrize("key", ["sk_live_canary", "rk_live_canary", "sk_org_live_canary"])
def test_a_live_key_is_sent_only_over_https(key: str, base: str):
    env = {"STRIPE_API_KEY": key, "POLLER_STRIPE_API_BASE": base}
    for done in (run("pollerd", "check-config", env=env), run("pollerd", "worker", env=env)):
        assert done.returncode == 78, done.stdout + done.stderr
        assert "POLLER_STRIPE_API_BASE" in done.stderr and "test key" in done.stderr
        assert "canary" not in done.stdout + done.stderr
    assert run("pollerd", "check-config", env=env | {"POLLER_STRIPE_API_BASE": "https://proxy.example"}).returncode == 0
    assert run("pollerd", "check-config", env=env | {"STRIPE_API_KEY": "sk_test_1"}).returncode == 0


def test_a_live_key_of_another_account_is_sent_only_over_https(tmp_path: Path):
    file = tmp_path / "poller.yaml"
    file.write_text("accounts:\n  acme: {stripe_api_key: {env: ACME}}\n")
    env = {"ACME": "rk_live_canary", "POLLER_CONFIG_FILE": str(file)}
    refused = run("pollerd", "check-config", env=env | {"POLLER_STRIPE_API_BASE": SANDBOX})
    assert refused.returncode == 78 and "acme" in refused.stderr
    assert run("pollerd", "check-config", env=env).returncode == 0
    # The sandbox of `--embedded` needs no configured address, and the key is refused all the same.
    binds = {f"POLLER_{name}_BIND": "127.0.0.1:0" for name in ("API", "GATEWAY", "ADMIN")}
    refused = run("pollerd", "all", "--embedded", env=env | binds)
    assert refused.returncode == 78 and "acme" in refused.stderr, refused.stderr
    assert "canary" not in refused.stdout + refused.stderr


def test_pollerctl_sends_a_live_key_only_over_https():
    with socket.create_server(("127.0.0.1", 0)) as server:
        env = {"STRIPE_API_KEY": "sk_live_canary", "POLLER_STRIPE_API_BASE": f"http://127.0.0.1:{server.getsockname()[1]}"}
        done = run("pollerctl", "source", "get", "src_1", env=env)
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()
    assert done.returncode == 64 and "https" in done.stderr and "canary" not in done.stderr


# Listeners on public addresses.


@pytest.mark.parametrize("address", ["0.0.0.0:9090", "[::]:9090", "10.1.2.3:9090", "poller.example:9090"])
def test_a_public_admin_port_must_be_enabled(address: str):
    refused = check(POLLER_ADMIN_BIND=address)
    assert refused.returncode == 78, refused.stdout
    assert "POLLER_ADMIN_BIND" in refused.stderr and "POLLER_ADMIN_PUBLIC=true" in refused.stderr
    for role in ("api", "worker", "notifier", "all"):
        assert run("pollerd", role, env={"POLLER_ADMIN_BIND": address}).returncode == 78
    assert check(POLLER_ADMIN_BIND=address, POLLER_ADMIN_PUBLIC="true").returncode == 0
    assert check(POLLER_ADMIN_BIND="127.0.0.1:9090").returncode == 0


def test_a_public_sandbox_must_be_enabled(tmp_path: Path):
    for address in ("0.0.0.0:0", "[::]:0", "10.1.2.3:0"):
        refused = run("stripe-sandbox", "--bind", address)
        assert refused.returncode == 64 and "--public" in refused.stderr, refused.stderr
    process = Process("sandbox", [program("stripe-sandbox"), "--bind", "0.0.0.0:0", "--public"], tmp_path).start()
    try:
        process.line(r"listening on http://0\.0\.0\.0:\d+$")
    finally:
        process.end()


# Where secrets may be stored.


@pytest.mark.parametrize("variable", SECRETS)
@pytest.mark.parametrize("place", ["flag", "environment", "file"])
def test_every_secret_may_be_in_a_file(tmp_path: Path, variable: str, place: str):
    key = variable.removeprefix("POLLER_").lower()
    path = kept(tmp_path, f"\n{SECRETS[variable]}\n")
    others = {"POLLER_MAIL_FROM": "shop@example.com"}
    if variable != "POLLER_SMTP_URL":
        others["POLLER_SMTP_URL"] = SECRETS["POLLER_SMTP_URL"]
    if place == "flag":
        done = check(f"--{key.replace('_', '-')}-file", path, **others)
    elif place == "environment":
        done = check(**{variable + "_FILE": path}, **others)
    else:
        done = check("--config", kept(tmp_path, f"{key}_file: {path}\n"), **others)
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line.split(maxsplit=2)[1:] for line in done.stdout.splitlines()}
    assert lines[key][0] == place and "redacted" in lines[key][1]
    assert lines[key + "_file"] == [place, f"{variable}_FILE={path}"]
    assert "canary" not in done.stdout + done.stderr and "warning" not in done.stderr


def test_flags_override_variables_and_a_secret_set_twice_is_rejected(tmp_path: Path):
    path = kept(tmp_path, "redis://127.0.0.1:1/1")
    done = check(POLLER_REDIS_URL="redis://127.0.0.1:1/2", POLLER_REDIS_URL_FILE=path)
    assert done.returncode == 78 and "both set" in done.stderr and "POLLER_REDIS_URL_FILE" in done.stderr
    done = check("--redis-url-file", path, POLLER_REDIS_URL="redis://127.0.0.1:1/2")
    assert "POLLER_REDIS_URL=redis://127.0.0.1:1/1" in done.stdout
    done = check("--redis-url", "redis://127.0.0.1:1/3", POLLER_REDIS_URL_FILE=path)
    assert "POLLER_REDIS_URL=redis://127.0.0.1:1/3" in done.stdout


@pytest.mark.parametrize("wrong, said", [("none", "does not exist"), (".", "is a folder"), ("", "is empty"), ("\xff", "UTF-8")])
def test_a_file_without_a_secret_is_rejected_with_the_reason(tmp_path: Path, wrong: str, said: str):
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "secret"
    if wrong == ".":
        path = folder
    elif wrong != "none":
        path.write_bytes(wrong.encode("latin-1"))
    done = check(STRIPE_API_KEY_FILE=str(path))
    assert done.returncode == 78 and f"{path} " in done.stderr and said in done.stderr, done.stderr
    assert "STRIPE_API_KEY_FILE" in done.stderr
    # The same for secrets in the configuration file's sections, and for pollerctl.
    config = kept(tmp_path, f"accounts:\n  acme: {{stripe_api_key: {{file: {path}}}}}\n")
    done = check("--config", config)
    assert done.returncode == 78 and "accounts.acme.stripe_api_key" in done.stderr and said in done.stderr, done.stderr
    done = run("pollerctl", "list", env={"POLLER_API_KEY_FILE": str(path)})
    assert done.returncode == 66 and "POLLER_API_KEY_FILE" in done.stderr and said in done.stderr, done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_secret_file_is_rejected_with_the_reason(tmp_path: Path):
    done = check(STRIPE_API_KEY_FILE=kept(tmp_path, "sk_test_1", mode=0))
    assert done.returncode == 78 and "cannot be read" in done.stderr


def test_secrets_readable_by_other_users_cause_a_warning(tmp_path: Path):
    seen = check("--stripe-api-key", "sk_test_1")
    assert seen.returncode == 0 and "--stripe-api-key is visible in the process list" in seen.stderr
    assert "--stripe-api-key-file" in seen.stderr and "STRIPE_API_KEY_FILE" in seen.stderr
    assert "process list" in check("--redis-url", "redis://u:p@127.0.0.1/0").stderr
    for silent in (check("--redis-url", "redis://127.0.0.1/0"), check(STRIPE_API_KEY="sk_test_1"), check("--lease", "20s")):
        assert "warning" not in silent.stderr
    open_file = kept(tmp_path, "sk_test_1", mode=0o644)
    assert f"{open_file} can be read by every user" in check(STRIPE_API_KEY_FILE=open_file).stderr
    config = kept(tmp_path, f"accounts:\n  acme: {{stripe_api_key: {{file: {open_file}}}}}\n")
    assert f"{open_file} can be read by every user" in check("--config", config).stderr
    plain = kept(tmp_path, "stripe_api_key: sk_test_1\n", mode=0o644)
    assert f"{plain} can be read by every user" in check("--config", plain).stderr
    harmless = kept(tmp_path, "lease: 20s\n", mode=0o644)
    assert "warning" not in check("--config", harmless).stderr


def test_the_sandbox_reads_its_secret_from_a_file(tmp_path: Path):
    hook, secret = Hook(), "whsec_kept_in_a_file"
    try:
        with StripeLab("--webhook", hook.url, "--webhook-secret-file", kept(tmp_path, secret + "\n")) as lab:
            made = lab.source()
            lab.press(made, "authorize")
            body, signature = hook.take("source.chargeable", made.id)
            stripe.Webhook.construct_event(body, signature, secret)
    finally:
        hook.close()
    both = run("stripe-sandbox", "--webhook", SANDBOX, "--webhook-secret", "a", "--webhook-secret-file", "b")
    assert both.returncode == 64 and "--webhook-secret-file" in both.stderr
    gone = run("stripe-sandbox", "--webhook", SANDBOX, "--webhook-secret-file", str(tmp_path / "none"))
    assert gone.returncode != 0 and "does not exist" in gone.stderr


def test_secrets_in_files_are_used(chaos, tmp_path: Path):
    key = "a-key-that-is-kept-in-a-file-0001"
    keys = kept(tmp_path, key + "\n")
    files = {"STRIPE_API_KEY": Sandbox.KEY, "POLLER_WEBHOOK_SECRET": WEBHOOK_SECRET}
    env = {name: "" for name in files} | {f"{name}_FILE": kept(tmp_path, text, 0o644) for name, text in files.items()}
    cluster = chaos(workers=1, listen=False, env=env | {"POLLER_API_KEYS_FILE": keys})
    source = cluster.sandbox.create_source()
    ctl = {"POLLER_URL": cluster.api.url, "POLLER_API_KEY_FILE": keys}
    done = run("pollerctl", "enqueue", source, "--policy", "interactive", "--notify", cluster.webhook.url, env=ctl)
    assert done.returncode == 0, done.stderr
    done = run("pollerctl", "wait", source, "--until", "pending", "--timeout", "50s", env=ctl)
    assert done.returncode == 0, done.stderr
    # The webhook is signed with the secret that the sink knows.
    wait_until(lambda: cluster.webhook.receipts.of(source), 60, "the webhook has arrived")
    assert not cluster.webhook.receipts.problems
    # The file is world-readable on purpose.
    assert "a secret is visible to others" in cluster.workers[0].stderr()


def test_every_documented_secret_may_be_in_a_file(tmp_path: Path):
    """Every secret option accepts a file, by variable and by flag, and its value is not shown."""
    blocks = [block for block in described() if re.fullmatch(r"\w+", block[0])]
    secrets = {block[0]: block[2] for block in blocks if "or a file with it" in block[2]}
    # Options are secret by their name, so that a new row of the table is not forgotten.
    named = {b[0] for b in blocks if re.search(r"(api_key|secret|master_key|password|token|headers|smtp_url|redis_url)$", b[0])}
    assert named == set(secrets)
    for key, names in secrets.items():
        value = SECRETS[names.split(",")[0]]
        variable, flag = re.search(r"or a file with it: (\w+), (\S+)$", names).groups()
        file = tmp_path / key
        file.write_text(value + "\n")
        file.chmod(0o600)
        more = {"POLLER_MAIL_FROM": "a@example.com"} if key == "smtp_url" else {}
        for arguments, env in (([], {variable: str(file)}), ([flag, str(file)], {})):
            done = run("pollerd", "check-config", *arguments, env=env | more)
            assert done.returncode == 0, done.stderr
            assert "redacted" in next(line for line in done.stdout.splitlines() if line.startswith(f"{key} "))
            assert value not in done.stdout and "canary" not in done.stdout
