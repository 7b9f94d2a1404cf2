"""Tests commands for several payments at once, and the result for each."""

import json

from harness.cluster import Cluster
from harness.commands import run
from harness.waiting import wait_until


def pollerctl(cluster: Cluster, *arguments: str, status: int | None = 0):
    done = run("pollerctl", *arguments, env={"POLLER_URL": cluster.api.url})
    assert status in (None, done.returncode), f"{done.returncode} {done.stdout} {done.stderr}"
    return done


def test_get_poll_and_cancel_accept_several_payments_and_continue_after_errors(calm: Cluster):
    first, second = calm.sandbox.create_sources(2)
    pollerctl(calm, "enqueue", first, second)
    some = pollerctl(calm, "get", first, "src_nobody", second, "--json", status=1)
    assert [json.loads(line)["source"] for line in some.stdout.splitlines()] == [first, second]
    assert "src_nobody: There is no watch of src_nobody" in some.stderr
    shown = pollerctl(calm, "get", first, second).stdout.split("\n\n")
    assert [first in shown[0], second in shown[1], len(shown)] == [True, True, 2]
    gone = pollerctl(calm, "cancel", first, second)
    assert gone.stdout == f"{first} is no longer watched\n{second} is no longer watched\n"
    late = pollerctl(calm, "poll", first, second, status=1)
    assert late.stdout == "" and late.stderr.count("is closed") >= 2
    alone = pollerctl(calm, "get", "src_nobody", status=1)
    assert not alone.stderr.startswith("pollerctl: src_nobody:")


def test_enqueue_charges_when_chargeable(calm: Cluster):
    source = calm.sandbox.create_source()
    pollerctl(calm, "enqueue", source, "--charge-when-chargeable", "--policy", "interactive")
    calm.sandbox.set_status(source, "chargeable")
    # A scheduled poll may have charged the source before, so that its watch is closed and the command fails.
    pollerctl(calm, "poll", source, status=None)
    wait_until(lambda: calm.api.watch(source).get("charge", {}).get("state") == "succeeded", 60, "the charge")
    refused = pollerctl(calm, "enqueue", "pi_1", "--charge-when-chargeable", status=64)
    assert "charge" in refused.stderr and "source" in refused.stderr
