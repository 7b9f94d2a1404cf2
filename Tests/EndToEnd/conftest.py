"""Fixtures that start real processes for the tests and print their logs on failure."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

pytest.register_assert_rewrite("harness")

from harness.browser import Chromium  # noqa: E402
from harness.cluster import Cluster  # noqa: E402

# All connections stay on this machine, so a proxy from the environment must not be used.
os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1"



def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: a further round of what a shorter test covers; `ops/test long` runs it")
    config.addinivalue_line("markers", "alone: needs the machine to itself: it counts its processes, or its time is measured")


# Files that take longer than a minute. They start first, so that all workers end at about the same time.
LONG_FILES = (
    "test_bench", "test_console", "test_regressions", "test_package", "test_alerts", "test_poison_entries",
    "test_console_questions", "test_secrets_at_rest", "test_console_trouble", "test_payment_pains", "test_chaos",
    "test_doubtful_answers", "test_chaos_failover", "test_traces", "test_repartition", "test_chaos_network",
    "test_incidents_first", "test_odd_ways_to_pay",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONG_FILES.index(item.path.stem) if item.path.stem in LONG_FILES else len(LONG_FILES))


# The functions that return the process logs for a failed test; the fixtures below set them.
_reports = pytest.StashKey[list[Callable[[], str]]]()


@pytest.fixture(scope="session", autouse=True)
def chromium_ends() -> Iterator[None]:
    """Ends the browser process that all tests have shared."""
    yield
    Chromium.end()


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[Cluster]:
    """One cluster for all tests of a file that leave no lasting change in it.

    One for the whole run would use more CPU time while it idles than new ones need to start.
    """
    with Cluster() as cluster:
        yield cluster
        # No test may have ended a process of the shared cluster.
        ended = [process.name for process in cluster.processes if not process.running]
        assert not ended, f"ended on their own: {ended}\n{cluster.report()}"


@pytest.fixture
def calm(shared_cluster: Cluster, request: pytest.FixtureRequest) -> Cluster:
    """The shared cluster, for tests that crash no process."""
    request.node.stash[_reports] = [shared_cluster.report]
    return shared_cluster


@pytest.fixture
def chaos(request: pytest.FixtureRequest) -> Iterator[Callable[..., Cluster]]:
    """Creates clusters for one test, which may kill their processes.

    A test in which a worker leaves a lease passes `env=SHORT_LEASE`, and one that kills Redis `fsync="always"`.
    """
    made: list[Cluster] = []
    request.node.stash[_reports] = []

    def make(**options) -> Cluster:
        cluster = Cluster(**options)
        cluster.__enter__()
        made.append(cluster)
        request.node.stash[_reports].append(cluster.report)
        return cluster

    yield make
    for cluster in made:
        cluster.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """Adds the logs of the processes to the report of a failed test."""
    report = yield
    if report.failed:
        for number, text in enumerate(item.stash.get(_reports, [])):
            report.sections.append((f"processes of cluster {number + 1}", text()))
    return report
