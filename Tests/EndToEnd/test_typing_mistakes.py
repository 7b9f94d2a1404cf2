"""What somebody types wrongly is told at once, with what was meant, and never waited for in vain."""

import json
import os
import re

import pytest

from harness.cluster import Cluster
from test_command_line import NOWHERE, run


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
def test_what_was_meant_is_said_before_anything_is_sent(arguments, meant):
    done = run("pollerctl", *arguments, env={"POLLER_URL": NOWHERE})
    assert done.returncode == 64, done.stderr
    assert f"did you mean {meant}?" in done.stderr


def test_words_that_may_be_right_are_not_refused():
    """Another release, or a bank of our own, may say what this one does not know."""
    for arguments in (
        ("wait", "a-payment", "--kind", "http", "--until", "chargable"),
        ("endpoint", "add", "https://a.example/h", "--types", "http.chargable"),
        ("endpoint", "add", "https://a.example/h", "--types", "source.*"),
    ):
        done = run("pollerctl", *arguments, env={"POLLER_URL": NOWHERE})
        assert done.returncode == 69 and "warning" not in done.stderr, done.stderr
    far = run("pollerctl", "wait", "src_1", "--until", "blessed", env={"POLLER_URL": NOWHERE})
    assert far.returncode == 69 and "warning: nothing is known to be blessed" in far.stderr, far.stderr


def test_an_empty_list_says_which_statuses_there_are(calm: Cluster):
    done = pollerctl(calm, "list", "--status", "chargable")
    assert done.returncode == 0 and done.stdout == ""
    assert "no watch has the status chargable, did you mean chargeable?" in done.stderr
    assert "consumed, failed" in done.stderr
    assert pollerctl(calm, "list", "--status", "requires_source").stderr == ""


def test_the_same_url_twice_is_told_with_the_endpoint_that_has_it(calm: Cluster):
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


def test_follow_refuses_what_nobody_watches(calm: Cluster):
    done = pollerctl(calm, "follow", "src_nope")
    assert done.returncode == 1
    assert "nobody watches src_nope" in done.stderr and "pollerctl enqueue" in done.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("get", "src_nobody"), "watch it with pollerctl enqueue, or name its --account"),
        (("endpoint", "get", "ep_000000000000"), "pollerctl endpoint list lists them"),
        (("delivery", "get", "dlv_1_AAAAAAAAAAAA"), "pollerctl delivery list lists those"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_is_not_there_is_told_in_commands(calm: Cluster, arguments, said):
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
        (("enqueue", "src_1", "pi_1", "--charge-when-chargeable"), "source 2: charge is for sources"),
        (("endpoint", "add", "https://a.example/h", "--retry", "sometimes"), "--retry "),
    ],
    ids=" ".join,
)
def test_a_value_the_server_refuses_is_wrong_usage(calm: Cluster, arguments, said):
    done = pollerctl(calm, *arguments)
    assert done.returncode == 64 and said in done.stderr, done.stderr
    assert not re.search(r"/v1/|part of the URL|A field|The body|item|batch", done.stderr), done.stderr


@pytest.mark.parametrize("command", ["get", "poll --json", "wait", "events", "endpoint get", "lane pause a/sources"])
def test_an_empty_id_is_told_as_such(command):
    done = run("pollerctl", *command.split(), "", env={"POLLER_URL": NOWHERE})
    assert done.returncode == 64 and "an id must not be empty" in done.stderr, done.stderr


def test_a_command_that_is_nearly_one_is_told(calm: Cluster):
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


def test_the_help_tells_the_version_and_where_completion_comes_from():
    theirs = run("pollerd", "--version").stdout.strip().removesuffix("-debug")
    assert run("pollerctl", "--version").stdout.strip() == theirs
    assert "--generate-completion-script bash" in run("pollerctl", "--help").stdout
    assert "complete" in run("pollerctl", "--generate-completion-script", "bash").stdout
