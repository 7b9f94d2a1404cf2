"""Fixtures: real processes for every test, their logs printed when it fails."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

pytest.register_assert_rewrite("harness")

from harness.cluster import Cluster  # noqa: E402

# Everything here is on this machine; a proxy of the surroundings has no business in it.
os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1"



def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: a further round of what a shorter test covers; `ops/test long` runs it")
    config.addinivalue_line("markers", "alone: needs the machine to itself: it counts its processes, or its time is measured")


# What a failed test prints of each process; set by the fixtures below.
_reports = pytest.StashKey[list[Callable[[], str]]]()


@pytest.fixture(scope="session")
def shared_cluster() -> Iterator[Cluster]:
    """One cluster for all tests that leave it as they found it."""
    with Cluster() as cluster:
        yield cluster
        # None of the tests may have made a process give up.
        ended = [process.name for process in cluster.processes if not process.running]
        assert not ended, f"ended on their own: {ended}\n{cluster.report()}"


@pytest.fixture
def calm(shared_cluster: Cluster, request: pytest.FixtureRequest) -> Cluster:
    """The shared cluster, for tests that crash nothing."""
    request.node.stash[_reports] = [shared_cluster.report]
    return shared_cluster


@pytest.fixture
def chaos(request: pytest.FixtureRequest) -> Iterator[Callable[..., Cluster]]:
    """Makes clusters of the test's own, to be killed at will."""
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
