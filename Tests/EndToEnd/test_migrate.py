"""Tests the store's format version: a new store has the newest, and `pollerd migrate` reports whether it has."""

import subprocess

import pytest
from harness.cluster import Cluster, program


@pytest.mark.parametrize("step", ["plan", "apply", "verify"])
def test_a_new_store_has_the_newest_format(calm: Cluster, step: str):
    done = subprocess.run(
        [program("pollerd"), "migrate", step], env=calm.env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the store has form 1, the newest" in done.stdout
    assert ("every process writes it" in done.stdout) == (step == "verify")
    with calm.redis.client() as client:
        assert client.hget("poller:layout", "format") == "1"
