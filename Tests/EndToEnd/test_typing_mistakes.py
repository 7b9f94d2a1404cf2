"""Tests that typing mistakes are reported at once with a suggestion, and that no command waits for an unknown value."""

import json
import os
import re
import ssl
from pathlib import Path

import pytest

from harness.cluster import Cluster
from harness.commands import run
from harness.http_server import HTTPServer, Request
from test_command_line import NOWHERE
from test_tls import authority

ROOT = Path(__file__).resolve().parents[2]


def pollerctl(cluster: Cluster, *arguments: str, **options):
    return run("pollerctl", *arguments, env={"POLLER_URL": cluster.api.url}, **options)


@pytest.mark.parametrize(
    "arguments, meant",
    [
        (("endpoint", "add", "https://a.example/h", "--types", "source.chargable"), "source.chargeable"),
        (("endpoint", "change", "ep_1", "--types", "payment.canceled"), "payment.cancelled"),
        (("follow", "--types", "watch.expird"), "watch.expired"),
        (("wait", "src_1", "--until", "chargable"), "chargeable"),
        (("wait", "pi_1", "--until", "suceeded"), "succeeded"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_a_suggestion_is_printed_before_any_request(arguments, meant):
    done = run("pollerctl", *arguments, env={"POLLER_URL": NOWHERE})
    assert done.returncode == 64, done.stderr
    assert f"did you mean {meant}?" in done.stderr


def test_values_that_may_be_valid_are_not_rejected():
    """Values unknown to this release may belong to another release or to the operator's own upstream."""
    for arguments in (
        ("wait", "a-payment", "--kind", "http", "--until", "chargable"),
        ("endpoint", "add", "https://a.example/h", "--types", "http.chargable"),
        ("endpoint", "add", "https://a.example/h", "--types", "source.*"),
    ):
        done = run("pollerctl", *arguments, env={"POLLER_URL": NOWHERE})
        assert done.returncode == 69 and "warning" not in done.stderr, done.stderr
    far = run("pollerctl", "wait", "src_1", "--until", "blessed", env={"POLLER_URL": NOWHERE})
    assert far.returncode == 69 and "warning: unknown value blessed" in far.stderr, far.stderr


def test_an_empty_list_names_the_existing_statuses(calm: Cluster):
    done = pollerctl(calm, "list", "--status", "chargable")
    assert done.returncode == 0 and done.stdout == ""
    assert "no watch has the status chargable, did you mean chargeable?" in done.stderr
    assert "consumed, failed" in done.stderr
    assert pollerctl(calm, "list", "--status", "requires_source").stderr == ""


def test_a_duplicate_url_is_reported_with_its_endpoint(calm: Cluster):
    url = f"https://twice-{os.getpid()}.example.com/hook"
    added = [pollerctl(calm, "endpoint", "add", url, "--json") for _ in range(2)]
    assert [done.returncode for done in added] == [0, 0]
    first, second = (json.loads(done.stdout)["id"] for done in added)
    try:
        assert added[0].stderr == ""
        assert f"{first} has this URL already" in added[1].stderr
        assert second not in added[1].stderr
    finally:
        pollerctl(calm, "endpoint", "remove", first, second)


def test_follow_rejects_an_unwatched_source(calm: Cluster):
    done = pollerctl(calm, "follow", "src_nope")
    assert done.returncode == 1
    assert "src_nope is not watched" in done.stderr and "pollerctl enqueue" in done.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("get", "src_nobody"), "watch it with pollerctl enqueue, or name its --account"),
        (("endpoint", "get", "ep_000000000000"), "pollerctl endpoint list lists them"),
        (("delivery", "get", "dlv_1_AAAAAAAAAAAA"), "pollerctl delivery list lists them"),
        (("delivery", "dismiss", "dlv_1_AAAAAAAAAAAA"), "pollerctl delivery list lists them"),
        (("quarantine", "dismiss", "src_nobody"), "watch it with pollerctl enqueue, or name its --account"),
        (("key", "revoke", "key_abcdefghijkl"), "pollerctl key list lists them"),
        (("order", "get", "NOBODY"), "name it with pollerctl enqueue"),
        (("lane", "get", "nobody/sources"), "it is created by its first watch"),
        (("endpoint", "rotate", "ep_000000000000"), "pollerctl endpoint list lists them"),
        (("delivery", "replay", "ep_000000000000"), "pollerctl endpoint list lists them"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_errors_about_missing_objects_name_commands(calm: Cluster, arguments, said):
    done = pollerctl(calm, *arguments)
    assert done.returncode == 1 and said in done.stderr, done.stderr
    assert not re.search(r"/v1/|GET |POST |URL", done.stderr), done.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("list", "--state", "opened"), "--state must be one of open, closed"),
        (("list", "--payment", "payed"), "--payment must be one of "),
        (("list", "--account", "a b"), "--account "),
        (("enqueue", "src_1", "src_2", "--policy", "often"), "pollerctl: --policy must be one of"),
        (("enqueue", "src_1", "--notify", "ftp://example.com"), "pollerctl: --notify must begin with"),
        (("enqueue", "src_1", "--notify", "https://10.0.0.1/h"), "pollerctl: --notify is at 10.0.0.1, which is no"),
        (("endpoint", "add", "https://192.168.7.7/h"), "add its range to POLLER_ALLOW_CIDRS"),
        (("endpoint", "add", "http://1.1.1.1/h"), "must be https://"),
        (("mail", "lift", "nobody"), "recipient is not one plain mail address"),
        (("key", "create", "--role", "king"), "--role must be one of"),
        (("key", "create", "--role", "viewer", "--expires", "1s"), "--expires "),
        (("enqueue", "src_1", "pi_1", "--charge-when-chargeable"), "source 2: charge is for sources"),
        (("endpoint", "add", "https://a.example/h", "--retry", "sometimes"), "--retry "),
    ],
    ids=" ".join,
)
def test_a_value_that_the_server_rejects_is_wrong_usage(calm: Cluster, arguments, said):
    done = pollerctl(calm, *arguments)
    assert done.returncode == 64 and said in done.stderr, done.stderr
    assert not re.search(r"/v1/|part of the URL|A field|The body|item|batch", done.stderr), done.stderr


def test_a_mistake_found_late_names_its_command(tmp_path):
    for typed, said in (
        (("enqueue",), "name at least one source"),
        (("enqueue", "a b"), "a b: an id has only letters"),
        (("enqueue", "src_1", "--metadata", "x"), "--metadata must be NAME=VALUE"),
        (("follow", "src 1"), "src 1: an id has only letters"),
    ):
        done = run("pollerctl", *typed, env={"POLLER_URL": NOWHERE})
        assert done.returncode == 64 and said in done.stderr, done.stderr
        assert f"See 'pollerctl {typed[0]} --help'." in done.stderr and "<subcommand>" not in done.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("wait", "src_1", "--timeout", "5"), "--timeout takes a duration with a unit, such as 90s, 5m, 36h or 7d; not 5"),
        (("top", "--interval", "1"), "--interval takes a duration"), (("key", "create", "--role", "viewer", "--expires", "90"), "--expires takes"),
        (("audit", "--since", "yesterday"), "or a time such as 2026-11-20T09:30:00Z; not yesterday"),
    ],
    ids=" ".join,
)
def test_a_duration_without_a_unit_is_rejected_with_the_units(arguments, said):
    done = run("pollerctl", *arguments, env={"POLLER_URL": NOWHERE})
    assert done.returncode == 64 and said in done.stderr, done.stderr


def test_global_options_may_precede_the_command(calm: Cluster):
    for arguments in (("--json", "stats"), ("--url", calm.api.url, "--json", "stats"), ("stats", "--json")):
        done = pollerctl(calm, *arguments)
        assert done.returncode == 0 and "watches" in json.loads(done.stdout), done.stderr
    alone = run("pollerctl", "--json")
    assert alone.returncode == 64


def test_a_server_that_is_not_poller_is_reported_as_such(calm: Cluster, shared_cluster: Cluster):
    address = shared_cluster.api_process.address("admin")
    for url, said in (
        (shared_cluster.sandbox.url, "is not a pollerd API"), (address, "is not a pollerd API"),
        (calm.api.url.replace("http:", "https:"), "it speaks no TLS: begin its URL with http://"),
        ("http://no-such-host.invalid", "there is no host of the name no-such-host.invalid"),
        ("localhost:8080", "the server's URL must be"),
    ):
        done = run("pollerctl", "list", env={"POLLER_URL": url})
        assert done.returncode in (64, 69) and said in done.stderr, done.stderr
        assert "checkouts" not in done.stderr and "Error" not in done.stderr, done.stderr


class Page(HTTPServer):
    """A proxy that answers every request with a page."""

    def __init__(self, status: int = 200, tls: ssl.SSLContext | None = None):
        self.status = status
        super().__init__(tls=tls)

    def answer(self, _request: Request, _body: bytes):
        return self.status, b"<html><body>a page</body></html>", {"content-type": "text/html", "location": "https://poller.example/"}


@pytest.mark.parametrize(
    "status, code, said",
    [
        (200, 1, "is a pollerd API of a compatible release"),
        (301, 69, "Set POLLER_URL to the address that it redirects to"),
        (403, 69, "or a proxy in front of it returned 403"),
        (404, 69, "is not a pollerd API"),
        (413, 69, "Let it accept bodies of 8 MiB"),
        (502, 69, "a proxy could not reach pollerd"),
    ],
)
def test_a_page_of_a_proxy_is_reported_with_the_remedy(status: int, code: int, said: str):
    with Page(status) as proxy:
        done = run("pollerctl", "enqueue", "src_1", "--json", env={"POLLER_URL": proxy.url})
    assert done.returncode == code and said in done.stderr, done.stderr
    assert proxy.url in done.stderr and "<" not in done.stderr, done.stderr


def test_a_certificate_for_another_host_is_reported_as_such(tmp_path: Path):
    root = authority(tmp_path, "another.example")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(root, root.with_suffix(".key"))
    with Page(tls=tls) as server:
        done = run("pollerctl", "list", "--ca-file", str(root), env={"POLLER_URL": server.url})
    assert done.returncode == 69 and "its certificate is for another host name" in done.stderr, done.stderr
    assert "Set POLLER_URL to a host name in the certificate." in done.stderr


def test_every_route_in_an_error_message_has_a_command():
    """Error messages for programs name routes. For people each of these routes has a command."""
    known = (ROOT / "Sources/pollerctl/Terminal/Failure.swift").read_text()
    routes = set()
    for file in sorted((ROOT / "Sources/PollerAPI").rglob("*.swift")):
        lines = [line.strip() for line in file.read_text().splitlines()]
        told_in = [line[line.index('"'):] for line in lines if '"' in line and not line.startswith("//")]
        routes |= set(re.findall(r"(?:GET|POST|PATCH|DELETE) [/…][\w/…]*", "\n".join(told_in)))
    # Routes of pages and descriptions have no command.
    routes -= {"GET /openapi", "GET /"}
    assert len(routes) > 4
    assert not [route for route in routes if f'"{route}"' not in known], "no command for these"


@pytest.mark.parametrize("command", ["get", "poll --json", "wait", "events", "endpoint get", "lane pause a/sources"])
def test_an_empty_id_is_reported_as_empty(command):
    done = run("pollerctl", *command.split(), "", env={"POLLER_URL": NOWHERE})
    assert done.returncode == 64 and "an id must not be empty" in done.stderr, done.stderr


def test_a_mistyped_command_gets_a_suggestion(calm: Cluster):
    for typed, meant in (
        (("enque", "src_1"), "pollerctl enqueue"),
        (("delivery", "retyr", "dlv_1"), "pollerctl delivery retry"),
        (("lits",), "pollerctl list"),
        (("--json", "lits"), None),
    ):
        done = pollerctl(calm, *typed)
        assert done.returncode == 64, done.stderr
        assert meant is None or f"did you mean {meant}?" in done.stderr
    assert pollerctl(calm, "endpoint", "--json").returncode == 0


def test_the_help_shows_the_version_and_how_to_get_completion():
    theirs = run("pollerd", "--version").stdout.strip().removesuffix("-debug")
    assert run("pollerctl", "--version").stdout.strip() == theirs
    assert "--generate-completion-script bash" in run("pollerctl", "--help").stdout
    assert "complete" in run("pollerctl", "--generate-completion-script", "bash").stdout
