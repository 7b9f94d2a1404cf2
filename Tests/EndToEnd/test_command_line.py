"""Tests exit codes, configuration checks and malformed files of the programs."""

import re
from pathlib import Path

import pytest
import yaml

from harness.cluster import Cluster
from harness.commands import run
from harness.poller_api import PollerAPI
from harness.redis_server import RedisServer

# No process listens on port 1 of a test machine.
NOWHERE = "http://127.0.0.1:1"
KEY = "a-key-only-this-test-knows-0001"


@pytest.mark.parametrize(
    "arguments",
    [
        ("enqueue",),
        ("enqueue", "src_1", "--polizy", "standard"),
        ("enqueue", "src_1", "--timeout"),
        ("enqueue", "src_1", "--traceparent", "my-trace"),
        ("frobnicate",),
        ("wait",),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_64_and_names_the_correct_usage(arguments):
    done = run("pollerctl", *arguments, env={"POLLER_URL": NOWHERE})
    assert done.returncode == 64, done.stderr
    assert "usage" in done.stderr.lower() or "--help" in done.stderr


@pytest.mark.parametrize("command", ["enqueue", "get", "poll", "cancel", "events", "wait"])
def test_an_unreachable_server_exits_with_69_and_is_named(command):
    done = run("pollerctl", command, "src_1", env={"POLLER_URL": NOWHERE})
    assert done.returncode == 69, f"{done.returncode} {done.stderr}"
    assert "127.0.0.1:1" in done.stderr


def test_a_rejected_request_exits_with_1_and_its_reason(calm: Cluster):
    for arguments in (
        ("enqueue", "src_1", "--timeout", "-5s"),
        ("enqueue", "src_\n1"),
        ("enqueue", "src_1", "--notify", "ftp://example.com"),
        ("get", "src_nobody"),
    ):
        done = run("pollerctl", *arguments, env={"POLLER_URL": calm.api.url})
        # An error that the program detects itself is wrong usage; an error from the server is a refusal.
        assert done.returncode in (1, 64), f"{arguments}: {done.returncode} {done.stderr}"
        assert done.stderr.strip(), f"{arguments} says nothing"
        assert "Fatal error" not in done.stderr


def test_a_wrong_or_missing_key_exits_with_77(chaos, tmp_path: Path):
    keys = tmp_path / "keys"
    keys.write_text(f"# for one test\n{KEY}\n")
    cluster = chaos(workers=0, notifiers=0, listen=False, env={"POLLER_API_KEYS_FILE": str(keys)})
    url = {"POLLER_URL": cluster.api.url}
    assert run("pollerctl", "list", env=url).returncode == 77
    wrong = run("pollerctl", "list", env=url | {"POLLER_API_KEY": KEY + "x"})
    assert wrong.returncode == 77
    assert KEY not in wrong.stderr
    right = run("pollerctl", "list", env=url | {"POLLER_API_KEY": KEY})
    assert right.returncode == 0, right.stderr

    assert cluster.api.request("GET", "/v1/watches").status_code == 401
    assert PollerAPI(cluster.api.url, KEY).request("GET", "/v1/watches").ok
    # Probes need no key.
    assert cluster.api_process.admin("/readyz").status_code == 200


@pytest.mark.parametrize("count", [10_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_a_file_of_many_ids_with_duplicates_becomes_one_watch_each(chaos, tmp_path: Path, count: int):
    cluster = chaos(workers=0, notifiers=0, listen=False)
    distinct = count * 6 // 10
    ids = [f"src_{n % distinct:08d}" for n in range(count)]
    listed = tmp_path / "ids.txt"
    listed.write_text("\n".join(ids) + "\n")
    done = run("pollerctl", "enqueue", "--file", str(listed), env={"POLLER_URL": cluster.api.url})
    assert done.returncode == 0, done.stderr[-2000:]
    # Counted in Redis, which stores one hash per watch.
    keys = sum(1 for _ in cluster.redis.client().scan_iter("poller:w{*", count=10_000))
    assert keys == distinct
    assert cluster.api_process.running


def test_an_invalid_id_on_standard_input_is_named(chaos, tmp_path: Path):
    cluster = chaos(workers=0, notifiers=0, listen=False)
    env = {"POLLER_URL": cluster.api.url}
    good = run("pollerctl", "enqueue", "--file", "-", env=env, input="src_1\n\nsrc_2\r\n")
    assert good.returncode == 0, good.stderr
    bad = run("pollerctl", "enqueue", "--file", "-", env=env, input="src_3\nsrc 4\n")
    assert bad.returncode in (1, 64)
    assert "2" in bad.stderr or "src 4" in bad.stderr, "it names neither line nor id"
    missing = run("pollerctl", "enqueue", "--file", str(tmp_path / "none"), env=env)
    assert missing.returncode in (1, 64, 66)
    assert str(tmp_path / "none") in missing.stderr


def test_tables_and_colours_are_only_printed_to_terminals(calm: Cluster):
    done = run("pollerctl", "list", env={"POLLER_URL": calm.api.url})
    assert done.returncode == 0
    assert "\033[" not in done.stdout


def test_check_config_names_unknown_keys_and_origins_and_hides_secrets(tmp_path: Path):
    secrets = {
        "STRIPE_API_KEY": "sk_test_canary1",
        "POLLER_SMTP_URL": "smtps://user:canary2@mail.example.com:465",
        "POLLER_MAIL_FROM": "shop@example.com",
        "POLLER_WEBHOOK_SECRET": "whsec_Y2FuYXJ5M2NhbmFyeTNjYW5hcnkzY2FuYXJ5Mw==",
        "POLLER_REDIS_URL": "redis://user:canary4@127.0.0.1:6379/0",
    }
    file = tmp_path / "poller.yaml"
    file.write_text("namespace: fromfile\nlease: 20s\nlaese: 5s\n")
    done = run(
        "pollerd",
        "check-config",
        "--config",
        str(file),
        "--lease",
        "30s",
        env=secrets | {"POLLER_LAESE": "5s", "POLLER_DRAIN_TIMEOUT": "7s"},
    )
    said = done.stdout + done.stderr
    assert done.returncode != 0, "unknown keys must fail the check"
    assert "POLLER_LAESE" in said and "laese" in said
    assert "POLLER_LEASE" in said.replace("POLLER_LAESE", ""), "no suggestion"
    for canary in ("canary1", "canary2", "canary4", "Y2FuYXJ5"):
        assert canary not in said
    # The order of precedence is flag, environment, file, default.
    for pattern in (
        r"lease\s+flag.*30s",
        r"drain_timeout\s+environment.*7s",
        r"namespace\s+file.*fromfile",
    ):
        assert re.search(pattern, done.stdout), f"{pattern}\n{done.stdout}"


def test_check_config_accepts_a_valid_configuration():
    done = run("pollerd", "check-config", env={"POLLER_LEASE": "15s"})
    assert done.returncode == 0, done.stderr
    assert "POLLER_LEASE=15s" in done.stdout
    assert all(re.match(r"[a-z_0-9]+ {2,}\S", line) for line in done.stdout.splitlines()), done.stdout


def test_a_missing_configuration_file_is_reported_as_missing(tmp_path):
    done = run("pollerd", "check-config", "--config", str(tmp_path / "none.yaml"))
    assert done.returncode == 78 and "does not exist" in done.stderr, done.stderr


@pytest.mark.parametrize(
    "variable, value",
    [
        ("POLLER_LEASE", "-5s"),
        ("POLLER_LEASE", "soon"),
        ("POLLER_LEASE", "1s"),
        ("POLLER_REDIS_URL", "http://127.0.0.1"),
        ("POLLER_API_BIND", "127.0.0.1:99999"),
        ("POLLER_WORKER_CONCURRENCY", "0"),
        ("POLLER_NAMESPACE", "a b"),
        ("POLLER_ALLOW_CIDRS", "10.0.0.0/33"),
        ("POLLER_WEBHOOK_SECRET", "not-a-secret"),
        ("POLLER_LOG_LEVEL", "loud"),
    ],
)
def test_an_invalid_value_is_rejected_with_its_name(variable: str, value: str):
    done = run("pollerd", "check-config", env={variable: value})
    assert done.returncode != 0
    assert variable in done.stderr + done.stdout
    assert "Fatal error" not in done.stderr


def test_a_public_api_without_keys_refuses_to_start(tmp_path: Path):
    redis = RedisServer(tmp_path, tmp_path / "data").start()
    try:
        env = {"POLLER_API_BIND": "0.0.0.0:0", "POLLER_REDIS_URL": redis.url}
        done = run("pollerd", "api", env=env)
    finally:
        redis.end()
    assert done.returncode != 0
    assert "POLLER_API_KEYS_FILE" in done.stderr


def test_an_evicting_redis_is_rejected(chaos):
    cluster = chaos(workers=0, notifiers=0, listen=False)
    cluster.redis.client().config_set("maxmemory-policy", "allkeys-lru")
    done = run("pollerd", "worker", env=cluster.env)
    assert done.returncode != 0
    assert "noeviction" in done.stderr


NEWER = {"partitions": 16, "format": 99, "release": "9.1.0"}
UNRELEASED = {"partitions": 16, "reader": 3}


@pytest.mark.parametrize(
    ("command", "layout", "advice"),
    [
        (command, NEWER, "start pollerd 9.1.0 or newer, or give Redis the backup from before the upgrade")
        for command in ("api", "worker", "fsck", "reindex", "rekey", "migrate")
    ]
    + [("api", UNRELEASED, "made by a build from before release 1.0.0")],
)
def test_a_store_with_another_format_is_not_changed(tmp_path: Path, command: str, layout: dict, advice: str):
    redis = RedisServer(tmp_path, tmp_path / "data").start()
    try:
        with redis.client() as client:
            client.hset("poller:layout", mapping=layout)
        env = {"POLLER_REDIS_URL": redis.url, "POLLER_MASTER_KEY": bytes(range(32)).hex()}
        done = run("pollerd", command, env=env)
        with redis.client() as client:
            assert client.keys() == ["poller:layout"]
    finally:
        redis.end()
    assert done.returncode == 78, done.stderr
    assert advice in done.stderr


def described() -> list[list[str]]:
    """Returns the output of `check-config --describe`, as lines by entry."""
    told = run("pollerd", "check-config", "--describe").stdout.strip()
    return [[line.strip() for line in block.splitlines()] for block in told.split("\n\n")]


def test_the_guide_to_the_file_matches_check_config():
    page = (Path(__file__).resolve().parents[2] / "Sources/Poller/Poller.docc/Guides/ConfigurationFile.md").read_text()
    members = re.findall(r"^\| `([a-z_.]+\.?[A-Z]*[a-z_.]+)` \| (.*) \| (.*) \| (.*) \|$", page, re.MULTILINE)
    told = [[place, text, takes, standard if standard == "required" else f"default: {standard}"]
            for place, takes, standard, text in members]
    assert len(told) > 40 and told == [block for block in described() if "." in block[0]]
    policies = re.findall(r"^\| `(\w+)` \| (every .*) \| (\w+) \|$", page, re.MULTILINE)
    assert [[f"policy {name}", pace, f"at that speed for {span}"] for name, pace, span in policies] == [
        block for block in described() if block[0].startswith("policy ")
    ]


def test_every_documented_member_is_read(tmp_path: Path):
    """Checks that a wrong value of each documented member is refused by its path, so no member is ignored."""
    whole = {
        "accounts": "accounts: {a: {stripe_api_key: {env: K}, charge: {description: x}, branding: {name: x}, limits: {watches: 1}}}",
        "upstreams": "upstreams: {a: {url: 'https://b.example/{id}', status: /s, final: [x], branding: {name: x}, limits: {watches: 1},"
                     " payment: {state: {map: {x: paid}}, amount: /a, currency: eur}}}",
        "endpoints": "endpoints: {a: {url: 'https://b.example/h', notify_by: {within: 5m, endpoint: ep_x}}}",
    }
    file = tmp_path / "poller.yaml"
    places = [block[0] for block in described() if "." in block[0]]
    shared = [place for place in places if place.startswith(("branding.", "limits."))]
    places += [f"{section}.NAME.{place}" for place in shared for section in ("accounts", "upstreams")]
    for place in places:
        section, *path = place.split(".")
        if section not in whole:
            continue
        config = yaml.safe_load(whole[section])
        node = config[section]["a"]
        for name in path[1:-1]:
            node = node[name]
        node[path[-1]] = [["neither text", "nor a mapping"]]
        file.write_text(yaml.safe_dump(config))
        done = run("pollerd", "check-config", "--config", str(file), env={"K": "sk_test_1"})
        named = ".".join(["a", *path[1:]])
        assert done.returncode == 78 and f"{section}.{named}" in done.stderr, f"{place}: {done.stderr}"


def test_all_mistakes_in_the_file_are_named_at_once(tmp_path: Path):
    file = tmp_path / "poller.yaml"
    file.write_text(
        "acounts: {a: {}}\nlease: soon\nlane_rte: 5\n"
        "accounts: {a: {stripe_api_key: sk_live_1}, b: {stripe_api_key: {env: NOPE}, chrge: true}}\n"
        "upstreams: {bank: {url: 'https://b.example/{id}'}, good: {url: 'https://b.example/{id}', status: /s, final: [x]}}\n"
        "endpoints: {inside: {url: 'https://10.0.0.1/h'}, odd: {url: 'ftp://x'}}\n"
    )
    done = run("pollerd", "check-config", "--config", str(file))
    assert done.returncode == 78
    for said in (
        "acounts is not a section of the file, did you mean accounts?", "POLLER_LEASE", "lane_rte",
        "accounts.a.stripe_api_key is a secret", "has chrge", "upstreams.bank needs status", "endpoints.odd",
    ):
        assert done.stderr.count(said) == 1, f"{said}\n{done.stderr}"
    for line in ("upstreams +file +good", "accounts +\\(none\\)"):
        assert re.search(f"^{line}$", done.stdout, re.M), done.stdout
    started = run("pollerd", "worker", "--config", str(file))
    assert started.returncode == 78 and started.stderr.count("\n") == 1, started.stderr


def test_an_unreachable_endpoint_in_the_file_causes_a_warning(tmp_path: Path):
    file = tmp_path / "poller.yaml"
    file.write_text(
        "endpoints: {inside: {url: 'https://10.0.0.1/h', secret: {env: HOOK}},"
        " outside: {url: 'https://shop.example/h', secret: {env: HOOK}}}\n"
    )
    arguments = ("pollerd", "check-config", "--config", str(file))
    env = {"HOOK": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
    done = run(*arguments, env=env)
    assert done.returncode == 0 and done.stderr.count("cannot receive events") == 1, done.stderr
    assert "endpoint inside" in done.stderr and "POLLER_ALLOW_CIDRS" in done.stderr
    # An address that is allowed for all processes causes no warning.
    allowed = run(*arguments, env=env | {"POLLER_ALLOW_CIDRS": "10.0.0.0/8"})
    assert allowed.returncode == 0 and not allowed.stderr
    # While another option is invalid, the allowed addresses are unknown, so no warning is printed.
    wrong = run(*arguments, env=env | {"POLLER_ALLOW_CIDRS": "10.0.0.0/8", "POLLER_LEASE": "soon"})
    assert wrong.returncode == 78 and "cannot receive events" not in wrong.stderr


def test_the_guide_to_options_matches_check_config():
    page = (Path(__file__).resolve().parents[2] / "Sources/Poller/Poller.docc/Guides/Options.md").read_text()
    rows = re.findall(
        r"^\| `(\w+)` \| `(\w+)`( \(or `…_FILE`\))? \| (?:`(.*?)`)? ?\| (while it runs|at a restart) \| (.*) \|$",
        page, re.MULTILINE,
    )
    told = [(key, variable, bool(file), standard, changes, text) for key, variable, file, standard, changes, text in rows]
    options = []
    for key, text, names, standard, changes in (block for block in described() if re.fullmatch(r"\w+", block[0])):
        standard = standard.removeprefix("default: ")
        options.append((
            key, names.split(",")[0], "or a file with it" in names,
            "" if standard in ("not set", "empty") else standard,
            changes.removeprefix("changes: "), text,
        ))
    assert len(told) > 40 and told == options


def test_a_secret_in_the_file_may_be_a_reference(tmp_path: Path):
    config, secret = tmp_path / "poller.yaml", tmp_path / "webhook-secret"
    secret.write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
    secret.chmod(0o600)
    config.write_text(
        "stripe_api_key: {env: MY_KEY}\n"
        f"stripe_webhook_secret: {{file: {secret}}}\n"
        "redis_url: {env: STORE}\n"
    )
    config.chmod(0o644)
    env = {"POLLER_CONFIG_FILE": str(config), "MY_KEY": "sk_test_1", "STORE": "redis://:pw@127.0.0.1:1/0"}
    done = run("pollerd", "check-config", env=env)
    assert done.returncode == 0, done.stderr
    for line in ("STRIPE_API_KEY=(redacted)", "STRIPE_WEBHOOK_SECRET=(redacted)", "redis://(redacted)@127.0.0.1:1/0"):
        assert line in done.stdout
    assert "can be read by every user" not in done.stderr, "the file itself holds no secret"
    del env["MY_KEY"]
    absent = run("pollerd", "check-config", env=env)
    assert absent.returncode == 78
    assert "stripe_api_key" in absent.stderr and "MY_KEY, which is not set" in absent.stderr
    config.write_text("lane_rate: {env: RATE}\n")
    open_option = run("pollerd", "check-config", env=env)
    assert open_option.returncode == 78 and "lane_rate has no scalar value" in open_option.stderr
