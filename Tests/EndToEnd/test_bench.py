"""`pollerd bench`: a program of its own measures, and the names of its figures stay."""

import json
from pathlib import Path

import pytest

from harness.cluster import program
from harness.process import Process
from harness.redis_server import RedisServer
from harness.waiting import wait_until

ENQUEUE = {"enqueue_per_s", "enqueue_one_lane_per_s", "bytes_per_watch", "bytes_per_watch_one_lane"}
ENGINE = {"engine_polls_per_s", "engine_worker_cpu_us_per_poll", "engine_redis_cpu_us_per_poll"}


def bench(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> Process:
    """A run that has ended, and left nothing behind."""
    run = Process("bench", [program("pollerd"), "bench", *arguments], folder, env or {}).start()
    wait_until(lambda: not run.running, 120, "measured")
    assert run.leftovers() == []
    return run


def test_it_measures_on_a_redis_of_its_own(tmp_path: Path):
    program("pollerd-bench")
    run = bench(tmp_path, "--json", "--only", "enqueue,engine", "--watches", "400", "--seconds", "1")
    assert run.exit_status == 0, run.tail()
    assert set(json.loads(run.stdout())) == ENQUEUE | ENGINE
    assert "bench: enqueue, 1 s a measurement" in run.stderr()


def test_it_measures_on_a_given_redis_if_it_is_empty(tmp_path: Path):
    redis = RedisServer(tmp_path, tmp_path / "data").start()
    try:
        few = ("--only", "enqueue", "--watches", "200", "--seconds", "1")
        run = bench(tmp_path, *few, "--redis-url", redis.url)
        assert run.exit_status == 0, run.tail()
        shown = [line for line in run.stdout().splitlines() if not line.startswith(" ")]
        titles = [line.split("  ")[0] for line in shown]
        assert titles == ["enqueue, engine alone", "memory of a watch, lanes of 100"]
        redis.client().set("somebody", "else's")
        refused = bench(tmp_path, *few, env={"POLLER_REDIS_URL": redis.url})
        assert refused.exit_status == 1 and "not empty" in refused.stderr()
    finally:
        redis.end()


@pytest.mark.parametrize(
    "arguments", [["--seconds", "0"], ["--rate", "many"], ["--only", "tomorrow"], ["--no-such-flag"]]
)
def test_what_cannot_be_measured_is_refused(tmp_path: Path, arguments: list[str]):
    run = bench(tmp_path, *arguments)
    assert run.exit_status == 64 and run.stdout() == "", run.tail()


def test_a_database_that_cannot_be_reached_by_its_name_is_refused(tmp_path: Path):
    run = bench(tmp_path, "--redis-url", "http://nowhere")
    assert run.exit_status == 78 and "POLLER_REDIS_URL" in run.stderr()


def test_help_names_every_option(tmp_path: Path):
    text = bench(tmp_path, "--help").stdout()
    for word in ("--json", "--seconds", "--watches", "--pending", "--rate", "--concurrency", "--only", "--config", "deliver"):
        assert word in text
