"""Runs of the programs that end by themselves."""

import json
import os
import subprocess

from .cluster import Cluster, program


def run(name: str, *arguments: str, env: dict | None = None, **options) -> subprocess.CompletedProcess:
    """Runs a program without the settings of the caller's environment."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("POLLER_", "STRIPE_"))}
    return subprocess.run(
        [program(name), *arguments], env=inherited | (env or {}), capture_output=True, text=True, timeout=120, **options
    )


def pollerctl(
    cluster: Cluster, *arguments: str, status: int | None = 0, key: str | None = None, env: dict | None = None, **options
) -> subprocess.CompletedProcess:
    """Runs `pollerctl` with a cluster and its sandbox; checks the exit status unless `status` is `None`."""
    addresses = {
        "POLLER_URL": cluster.api.url, "POLLER_STRIPE_API_BASE": cluster.sandbox.url, "STRIPE_API_KEY": cluster.sandbox.KEY,
    }
    secret = {"POLLER_API_KEY": key} if key else {}
    done = run("pollerctl", *arguments, env=addresses | secret | (env or {}), **options)
    assert status in (None, done.returncode), f"{done.returncode} {done.stdout} {done.stderr}"
    return done


def ctl(cluster: Cluster, *arguments: str, status: int = 0) -> str:
    """Runs `pollerctl` and returns its output."""
    return pollerctl(cluster, *arguments, status=status).stdout


def printed(done: subprocess.CompletedProcess) -> list[dict]:
    """Returns the JSON objects that a program has printed, one per line."""
    return [json.loads(line) for line in done.stdout.splitlines()]
