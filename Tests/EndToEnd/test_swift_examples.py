"""Tests the programs of the PollerClient guide: the guide shows the compiled files, and they work as described."""

import re
import subprocess
from pathlib import Path

import pytest
from harness.cluster import Cluster, program

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "Sources/Poller/Poller.docc/Guides/UsingPollerClient.md"
EXAMPLES = ROOT / "Sources/Examples"


def run(cluster: Cluster, name: str, *arguments: str) -> subprocess.CompletedProcess:
    path = Path(program("pollerctl")).parent / name
    if not path.exists():
        pytest.skip(f"THE EXAMPLE {name} WAS NOT TRIED: POLLER_BIN_DIR has only the programs of a release")
    env = {"POLLER_URL": cluster.api.url, "PATH": "/usr/bin:/bin"}
    return subprocess.run([path, *arguments], env=env, capture_output=True, text=True, timeout=60)


def test_the_guide_shows_the_programs_that_are_compiled():
    shown = re.findall(r"^```swift\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)
    manifest, programs = shown[0], shown[1:]
    files = sorted(EXAMPLES.glob("*/*.swift"))
    assert sorted(programs) == sorted(file.read_text() for file in files) and len(programs) == 3
    assert ".package(" in manifest and '.product(name: "PollerClient", package: "poller")' in manifest
    package = (ROOT / "Package.swift").read_text()
    assert '.library(name: "PollerClient"' in package
    for file in files:
        assert f'path: "Sources/Examples/{file.parent.name}"' in package


def test_a_payment_is_watched_until_it_is_paid(calm: Cluster):
    source = calm.enqueue_new(notify=[], policy="interactive")
    for status in ("chargeable", "consumed"):
        calm.wait_status(source, "pending") if status == "chargeable" else None
        calm.set_status(source, status)
    done = run(calm, "example-watch-payment", source, "A77")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0].startswith(f"watching {source}: ")
    assert re.fullmatch(r"paid: \d+ eur", done.stdout.splitlines()[1])
    failed = calm.follow_new(notify=[], policy="interactive")
    calm.set_status(failed, "failed")
    done = run(calm, "example-watch-payment", failed)
    assert done.returncode == 2 and "not paid: failed" in done.stdout, done.stdout + done.stderr


def test_events_are_followed_from_a_seq_on(calm: Cluster):
    source = calm.follow_new(notify=[])
    calm.set_status(source, "failed")
    recorded = [(event["seq"], event["type"]) for event in calm.api.events(source)]
    for after in (0, 1):
        done = run(calm, "example-follow-events", source, str(after))
        assert done.returncode == 0, done.stdout + done.stderr
        printed = [line.split(" ")[:2] for line in done.stdout.splitlines()]
        assert [(int(seq), type) for seq, type in printed] == recorded[after:]


def test_an_endpoint_is_registered_once_under_its_name(calm: Cluster):
    arguments = ("example-register-endpoint", calm.webhook.url + "/swift", "Swift shop", "S-1")
    first, second = (run(calm, *arguments) for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    made = re.search(r"registered (ep_\S+); its secret is whsec_", first.stdout)[1]
    # The same key and body get the same response.
    assert made in second.stdout
    assert calm.api.get(f"/v1/endpoints/{made}")["name"] == "Swift shop"
    calm.api.request("DELETE", f"/v1/endpoints/{made}")
