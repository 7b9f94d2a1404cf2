"""Tests docker-compose.yml with Docker Compose, where it is available."""

import json
import os
import shutil
import subprocess
import time

import pytest

from harness.containers import ROOT

PROJECT = "poller-test"
KEY = "key-of-a-test-0123456789"
PORTS = {"CLUSTER_API_PORT": "38080", "CLUSTER_GATEWAY_PORT": "38081", "CLUSTER_SANDBOX_PORT": "38111"}
# The first run builds the images from scratch.
UP_S = 3000


def compose(*arguments: str, timeout_s: float = 120) -> str:
    """Runs Compose and returns its output; fails with its error text."""
    done = subprocess.run(
        ["docker", "compose", "-p", PROJECT, "-f", str(ROOT / "docker-compose.yml"), *arguments],
        env=os.environ | PORTS | {"POLLER_API_KEY": KEY}, capture_output=True, text=True, timeout=timeout_s,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def ids() -> set[str]:
    return set(compose("ps", "-q").split())


@pytest.fixture(scope="module")
def composition():
    ask = ["docker", "compose", "version"]
    if not shutil.which("docker") or subprocess.run(ask, capture_output=True).returncode != 0:
        pytest.skip("no Docker Compose here: docker-compose.yml was not run")
    if subprocess.run(["docker", "info"], capture_output=True).returncode != 0:
        pytest.skip("no Docker engine here: docker-compose.yml was not run")
    try:
        compose("up", "-d", "--build", "--wait", timeout_s=UP_S)
        yield
    finally:
        compose("down", "-v", "--remove-orphans")


def test_all_services_are_healthy_and_the_command_line_works(composition):
    # The container has the key, and the exit status is 0 if all checks pass.
    compose("exec", "-T", "api", "pollerctl", "doctor")


def test_the_image_is_small(composition):
    weight = subprocess.run(["docker", "image", "inspect", "-f", "{{.Size}}", "poller"], check=True, capture_output=True, text=True)
    assert int(weight.stdout) <= 160_000_000


def test_an_unchanged_up_recreates_no_container(composition):
    before = ids()
    compose("up", "-d", "--wait")
    assert ids() == before


def test_more_workers_and_notifiers_can_be_added(composition):
    compose("up", "-d", "--wait", "--scale", "worker=3", "--scale", "notifier=2")
    running = [json.loads(line)["Service"] for line in compose("ps", "--format", "json").splitlines()]
    assert (running.count("worker"), running.count("notifier")) == (3, 2)


def test_all_services_stop_promptly(composition):
    start = time.monotonic()
    compose("stop")
    # Less than a drain that runs out of time (POLLER_DRAIN_TIMEOUT).
    assert time.monotonic() - start < 25
    states = [json.loads(line) for line in compose("ps", "-a", "--format", "json").splitlines()]
    assert {state["ExitCode"] for state in states if state["Service"] != "redis"} <= {0, 143}
