"""Tests that `pollerd bench` measures with a separate program and that its metric names are stable."""

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.cluster import program
from harness.process import Process
from harness.redis_cluster import RedisCluster
from harness.redis_server import RedisServer
from harness.waiting import wait_until

ENQUEUE = {"enqueue_per_s", "enqueue_one_lane_per_s", "bytes_per_watch", "bytes_per_watch_one_lane"}
REAL = {"polls_per_s", "worker_cpu_us", "redis_cpu_us", "due_lag_ms", "worker_resident_mib"}
HERE = Path(__file__).parent
ENGINE = {"engine_polls_per_s", "engine_worker_cpu_us_per_poll", "engine_redis_cpu_us_per_poll"}


def bench(
    folder: Path, *arguments: str, env: dict[str, str] | None = None, within_s: float = 300
) -> Process:
    """Runs a benchmark to its end, and checks that it left no process behind."""
    run = Process("bench", [program("pollerd"), "bench", *arguments], folder, env or {}).start()
    wait_until(lambda: not run.running, within_s, "measured")
    assert run.leftovers() == []
    return run


def test_it_measures_on_a_redis_of_its_own(tmp_path: Path):
    program("pollerd-bench")
    run = bench(tmp_path, "--json", "--only", "enqueue,engine", "--watches", "4000", "--seconds", "1")
    assert run.exit_status == 0, run.tail()
    report = json.loads(run.stdout())
    assert set(report) == ENQUEUE | ENGINE | {"machine"}
    assert "bench: enqueue, 1 s a measurement" in run.stderr()
    machine = report["machine"]
    assert set(machine) - {"warning"} == {"cores", "load_before", "others_cores", "steal_percent"}
    # The machine that runs the tests may be loaded or not.
    assert 0 <= machine["others_cores"] <= machine["cores"] == os.cpu_count()
    assert ("warning" in machine) == ("the machine is loaded" in run.stderr())


def test_it_measures_on_a_given_redis_if_it_is_empty(tmp_path: Path):
    redis = RedisServer(tmp_path, tmp_path / "data").start()
    try:
        few = ("--only", "enqueue", "--watches", "4000", "--seconds", "1")
        run = bench(tmp_path, *few, "--redis-url", redis.url)
        assert run.exit_status == 0, run.tail()
        shown = [line for line in run.stdout().splitlines() if not line.startswith(" ")]
        titles = [line.split("  ")[0] for line in shown]
        assert titles[:3] == ["enqueue, engine alone", "memory of a watch, lanes of 100", "machine, cores"]
        # A given Redis is no child process, so its CPU cannot be separated from that of other processes.
        assert "other processes" not in run.stdout()
        redis.client().set("somebody", "else's")
        refused = bench(tmp_path, *few, env={"POLLER_REDIS_URL": redis.url})
        assert refused.exit_status == 1 and "not empty" in refused.stderr()
    finally:
        redis.end()


@pytest.mark.parametrize(
    "arguments",
    [["--seconds", "0"], ["--rate", "many"], ["--only", "tomorrow"], ["--loads", "heavy"], ["--sizes", "9,3"],
     ["--lanes", "a"], ["--gateways", "0"], ["--per-socket", "101"], ["--no-such-flag"]],
)
def test_invalid_options_are_rejected(tmp_path: Path, arguments: list[str]):
    run = bench(tmp_path, *arguments)
    assert run.exit_status == 64 and run.stdout() == "", run.tail()


def test_an_unreachable_database_is_rejected(tmp_path: Path):
    run = bench(tmp_path, "--redis-url", "http://nowhere")
    assert run.exit_status == 78 and "POLLER_REDIS_URL" in run.stderr()


def test_help_names_every_option(tmp_path: Path):
    text = bench(tmp_path, "--help").stdout()
    for word in (
        "--json", "--seconds", "--watches", "--pending", "--rate", "--concurrency", "--only", "--loads", "--save",
        "--sizes", "--lanes", "--processes", "--parts", "--gateways", "--per-socket", "--events",
        "--random", "--peer", "--allocations", "--config", "deliver", "real", "paced_1000", "changes_tls",
    ):
        assert word in text


def nginx() -> str:
    found = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    return found or pytest.skip("nginx is not installed")


def cpu_ticks(session: int, role: str) -> int | None:
    """Returns the CPU ticks of a role's process in a session, as the system counts them, or `None`."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"/pollerd") and words[1] == role.encode() and os.getsid(int(folder.name)) == session:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                return int(fields[11]) + int(fields[12])
        except (OSError, IndexError):
            continue  # The process has ended meanwhile, or it is a kernel thread.
    return None


@pytest.mark.alone
def test_it_measures_the_processes_that_users_run(tmp_path: Path):
    nginx()
    saved = tmp_path / "saved.json"
    loads = ("--only", "real", "--loads", "paced_100", "--seconds", "3")
    run = Process("bench", [program("pollerd"), "bench", "--json", "--save", str(saved), *loads], tmp_path).start()
    # The worker's CPU time under the paced load, measured independently of the benchmark.
    ticks = []
    while run.running and len(ticks) < 4000:
        now = cpu_ticks(run.pid, "worker")
        if now is None and len(ticks) > 20:
            break  # The first load has ended.
        if now is not None:
            ticks.append((time.monotonic(), now))
        time.sleep(0.02)
    wait_until(lambda: not run.running, 120, "measured")
    assert run.exit_status == 0 and run.leftovers() == [], run.tail()
    assert saved.read_text() == run.stdout().strip()

    real = json.loads(run.stdout())["real"]
    assert real["upstream"] == "nginx" and set(real) == {"upstream", "paced_100"}
    paced = real["paced_100"]
    assert set(paced) == REAL and set(paced["due_lag_ms"]) == {"p50", "p99", "max"}
    assert 90 < paced["polls_per_s"] < 110, paced
    # The last three seconds contain only the load.
    end = ticks[-1][0]
    window = [tick for tick in ticks if end - 3.2 < tick[0] < end - 0.2]
    (first, before), (last, after) = window[0], window[-1]
    seen = (after - before) / os.sysconf("SC_CLK_TCK") / (last - first)
    said = paced["worker_cpu_us"] * paced["polls_per_s"] / 1e6
    assert 0.5 < said / seen < 2, (said, seen)


def test_each_load_is_measured_and_compared_with_a_peer(tmp_path: Path):
    nginx()
    saved = tmp_path / "saved.json"
    loads = ("--only", "real", "--loads", "tls,changes,in_flight_1000", "--seconds", "3", "--watches", "4000")
    run = bench(tmp_path, "--json", "--save", str(saved), *loads)
    assert run.exit_status == 0, run.tail()
    real = json.loads(run.stdout())["real"]
    assert set(real) == {"upstream", "tls", "changes", "in_flight_1000"}
    held = real["in_flight_1000"]
    assert 200 < held["in_flight"] <= 1000 and held["worker_resident_mib"] > 5, held
    for load in ("tls", "changes"):
        assert set(real[load]) == REAL
    told = subprocess.run(
        [sys.executable, HERE.parents[1] / "ops" / "peers.py", saved], capture_output=True, text=True, check=True
    ).stdout
    for words in ("CPU of a poll, TLS, saturated", "CPU of a change, HTTP", "asynq 0.26, 2026-11", "0.39–0.45 then"):
        assert words in told
    assert "1,000/s" not in told


# Runs a program that does not ignore SIGHUP, although the tests may run under nohup.
UNDER_TERMINAL = [
    sys.executable, "-c",
    "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])",
]


@pytest.mark.parametrize(
    ("before", "number"),
    [
        ([], signal.SIGTERM), ([], signal.SIGINT), (UNDER_TERMINAL, signal.SIGHUP), (["nohup"], signal.SIGTERM),
    ],
    ids=["term", "int", "hup", "nohup"],
)
def test_a_signal_ends_its_programs_with_it(tmp_path: Path, before: list[str], number: signal.Signals):
    nginx()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    loads = ("--only", "real", "--loads", "paced_100", "--seconds", "60")
    run = Process("bench", [*before, program("pollerd"), "bench", *loads], tmp_path, {"TMPDIR": str(temporary)}).start()
    try:
        wait_until(lambda: cpu_ticks(run.pid, "worker") is not None, 60, "a worker is measured")
        assert {"redis", "nginx"} <= {file.name.split("-")[1] for file in temporary.glob("pollerd-*")}
        if before == ["nohup"]:
            run.signal(signal.SIGHUP)
            # Its end would take less than the two seconds that its programs have.
            time.sleep(3)
        # Only the measuring program, as a terminal would signal its children, too.
        run.signal(number)
        # Sooner than its load would end.
        wait_until(lambda: not run.running, 40, "ended")
        assert run.exit_status == 128 + number, run.tail()
        assert run.leftovers() == [] and list(temporary.iterdir()) == []
    finally:
        run.end()


# Takes the lines that ops/peers/asynq takes, and polls with a single thread.
PEER = """#!{python}
import http.client, sys, threading, time
polls = 0
def poll(address, count, due, span):
    global polls
    client = http.client.HTTPConnection(address)
    for number in range(count):
        time.sleep(max(0, (due + span * number / count) / 1000 - time.time()))
        client.request("GET", "/v1/sources/src_1")
        client.getresponse().read()
        polls += 1
for line in sys.stdin:
    word, *numbers = line.split()
    if word == "fill":
        arguments = (sys.argv[2].removeprefix("http://"), *map(int, numbers))
        threading.Thread(target=poll, args=arguments, daemon=True).start()
        print("ready", flush=True)
    else:
        lag = '{{"min": -2, "p50": 1, "p99": 2, "max": 3}}'
        print(f'{{{{"polls": {{polls}}, "failed": 0, "lag_ms": {{lag}}}}}}', flush=True)
        polls = 0
"""


def test_the_allocations_of_a_poll_are_counted(tmp_path: Path):
    nginx()
    if not shutil.which("cc") or platform.libc_ver()[0] != "glibc":
        pytest.skip("needs a C compiler and glibc")
    library = tmp_path / "allocations.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, HERE.parents[1] / "ops" / "allocations.c"], check=True)
    few = ("--only", "real", "--loads", "http", "--seconds", "1", "--watches", "4000")
    run = bench(tmp_path, "--json", *few, "--allocations", str(library))
    assert run.exit_status == 0, run.tail()
    figures = json.loads(run.stdout())["real"]["http"]
    assert set(figures) == REAL | {"allocations"}
    # A debug build needs about 2,000, an optimised one 150. The bounds find a count of something else.
    assert 10 < figures["allocations"] < 10_000, figures


# The load of other tests would delay its polls.
@pytest.mark.alone
def test_another_program_is_measured_under_the_same_load(tmp_path: Path):
    nginx()
    peer, saved, chart = tmp_path / "peer", tmp_path / "saved.json", tmp_path / "poll.svg"
    peer.write_text(PEER.format(python=sys.executable))
    peer.chmod(0o755)
    few = ("--only", "real", "--loads", "paced_100", "--seconds", "2", "--peer", str(peer), "--save", str(saved))
    run = bench(tmp_path, "--json", *few)
    assert run.exit_status == 0, run.tail()
    asynq = json.loads(saved.read_text())["real"]["asynq"]["paced_100"]
    assert set(asynq) == REAL - {"worker_resident_mib"} | {"due_lag_min_ms"}
    # A hundred a second, unless the machine stalls at the beginning or the end.
    assert 50 < asynq["polls_per_s"] < 200 and asynq["due_lag_min_ms"] == -2, asynq
    ops = HERE.parents[1] / "ops"
    told = subprocess.run([sys.executable, ops / "peers.py", saved], capture_output=True, text=True, check=True).stdout
    assert "asynq 0.26, this run" in told and "2026-11" not in told
    subprocess.run([sys.executable, ops / "chart.py", "--beside", saved, chart], capture_output=True, check=True)
    drawn = chart.read_text()
    assert f"{asynq['worker_cpu_us'] + asynq['redis_cpu_us']:.0f} = " in drawn and "another run" in drawn


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        ("s/return 200 '{/return 500 '{/", "polls of"),
        ("s/stub_status;/return 200 '1 1 7';/", "nginx"),
    ],
)
def test_inconsistent_measurements_are_rejected(tmp_path: Path, edit: str, complaint: str):
    """Checks the case of failed polls, and of an upstream whose request count differs from the worker's."""
    real = nginx()
    bad = tmp_path / "bin" / "nginx"
    bad.parent.mkdir()
    bad.write_text(f'#!/bin/sh\nsed -i "{edit}" "$4"\nexec {real} "$@"\n')
    bad.chmod(0o755)
    few = ("--only", "real", "--loads", "paced_100", "--seconds", "1")
    run = bench(tmp_path, *few, env={"PATH": f"{bad.parent}:{os.environ['PATH']}"})
    assert run.exit_status == 1 and complaint in run.stderr() and run.stdout() == "", run.tail()


def test_the_cost_of_a_webhook_includes_its_notifier(tmp_path: Path):
    nginx()
    run = bench(tmp_path, "--json", "--only", "deliver", "--seconds", "1", "--watches", "300")
    assert run.exit_status == 0, run.tail()
    deliver = json.loads(run.stdout())["deliver"]
    assert {"to_request_ms", "webhooks_per_s", "tarpit_p99_ratio", "notifier"} == set(deliver)
    assert set(deliver["notifier"]) == {"webhooks_per_s", "notifier_cpu_us", "redis_cpu_us"}
    assert all(value > 0 for value in deliver["notifier"].values())


# Every operation of the queue and the store; a new operation must be added to the table.
OPERATIONS = {
    "memory", "enqueue", "claim", "exchange", "claim_in_vain", "hint", "cancel", "read", "explain", "events", "stats",
    "list", "list_closed", "lanes", "accounts", "search_order", "search_source", "outbox", "bounds", "mark",
    "deliveries", "fallback", "claim_delivery", "start", "audit_lanes", "audit_items", "acknowledged", "compact",
    "reduce", "trim", "purge",
}
# Operations whose cost may grow. `search_source` checks every lane, because the source's account is unknown:
# *0038-search*. Deliveries of one endpoint come from the index of all deliveries by creation time, in which a leaf
# of 100 takes one command.
GROWS = {"lanes": {"search_source", "fallback"}, "watches": set(), "processes": set()}


def test_no_operation_takes_more_commands_in_a_larger_store(tmp_path: Path):
    saved = tmp_path / "saved.json"
    sizes = ("--sizes", "1000,10000", "--lanes", "500,5000", "--processes", "5,100")
    run = bench(tmp_path, "--only", "scale", *sizes, "--save", str(saved))
    assert run.exit_status == 0, run.tail()
    scale = json.loads(saved.read_text())["scale"]
    assert set(scale) == {"watches", "lanes", "processes"}
    for series, points in scale.items():
        small, large = points.values()
        assert set(small) == set(large) == ({"beat"} if series == "processes" else OPERATIONS)
        for name, figures in large.items():
            if name == "memory":
                assert 100 < figures["bytes"] < 5000, (series, figures)
                continue
            few, many = small[name]["commands"], figures["commands"]
            grows = name in GROWS[series]
            assert few > 0 and many <= few * (12 if grows else 1.5) + 2, (series, name, few, many)
    drawn = subprocess.run(
        [sys.executable, HERE.parents[1] / "ops" / "scale.py", saved, tmp_path / "scale.svg"],
        capture_output=True, text=True, check=True,
    ).stdout
    picture = (tmp_path / "scale.svg").read_text()
    for words in ("| claim in vain |", "| heartbeat |", "By lanes, all in one partition"):
        assert words in drawn
    assert picture.count("<polygon") == 2 * len(OPERATIONS) + 1


@pytest.mark.alone
@pytest.mark.long
def test_six_masters_share_the_work(tmp_path: Path):
    cluster = RedisCluster(tmp_path, tmp_path / "data", masters=6, replicas=0).start()
    try:
        few = ("--only", "masters", "--parts", "64,256", "--watches", "20000", "--seconds", "4")
        run = bench(tmp_path, "--json", *few, "--redis-url", cluster.url)
        assert run.exit_status == 0, run.tail()
        assert not any(server.client().dbsize() for server in cluster.servers)
        masters = json.loads(run.stdout())["masters"]
        for partitions, most in (("64", 1.4), ("256", 1.3)):
            figures = masters[partitions]
            # Each watch was polled once; otherwise the worker was overloaded.
            assert figures["polls_per_s"] > 0.9 * 20000 / 4, figures
            assert figures["commands_ratio"] <= most, figures
            # The expected ratio follows from the distribution of the partitions.
            assert abs(figures["commands_ratio"] - figures["expected_ratio"]) < 0.15, figures
    finally:
        for server in cluster.servers:
            server.end()


def test_the_masters_benchmark_requires_a_redis_cluster(tmp_path: Path):
    run = bench(tmp_path, "--only", "masters")
    assert run.exit_status == 1 and "Redis Cluster" in run.stderr(), run.tail()


@pytest.mark.alone
@pytest.mark.long
def test_the_cost_of_listeners_is_measured_across_shared_gateways(tmp_path: Path):
    few = ("--only", "crowd", "--watches", "2000", "--gateways", "3", "--seconds", "5")
    run = bench(tmp_path, "--json", *few)
    assert run.exit_status == 0, run.tail()
    report = json.loads(run.stdout())
    assert set(report) == {"crowd_of_3", "streams", "long_polls", "machine"}
    for way in ("streams", "long_polls"):
        assert report[way]["listeners"] == 2000 and report[way]["answer_us"] > 0, report
    crowd = report["crowd_of_3"]
    assert crowd["listeners"] == 2000 and crowd["kib_per_listener"] > 0, crowd
    assert 900 < crowd["unheard_per_s"] < 1100 and crowd["unheard_event_us"] > 0, crowd
    # A tenth of the events has subscribers: first one each, then two.
    assert 80 < crowd["one_frames_per_s"] < 120 and 160 < crowd["many_frames_per_s"] < 240, crowd
    assert 1.8 < crowd["frames_an_event"] < 2.2 and crowd["many_to_frame_ms"]["p50"] > 0, crowd
    assert crowd["frames_lost"] == 0 and crowd["frames_wrong"] == 0, crowd
    assert crowd["subscribe_us"] > 0 and crowd["one_late_ms"]["p50"] >= 0, crowd


@pytest.mark.alone
@pytest.mark.long
def test_marks_of_a_large_fan_out_are_created_once(tmp_path: Path):
    run = bench(tmp_path, "--json", "--only", "fan_out")
    assert run.exit_status == 0, run.tail()
    report = json.loads(run.stdout())
    for name in ("fan_out", "fan_out_of_four", "fan_out_of_two"):
        assert report[f"{name}_made"] == 1 and report[f"{name}_marks_per_s"] > 1000, report
