"""Tests a rollout and rollback under load, with processes of two releases on one store."""

from dataclasses import replace

import pytest
from chaos.run import Plan, Run
from harness.cluster import previous_programs

ROLLED = {"worker rolled", "notifier rolled", "api rolled"}
KILLED = {"worker killed", "redis killed"}


@pytest.mark.skipif(
    not previous_programs(),
    reason="POLLER_PREVIOUS_BIN_DIR names no programs of a former release: nothing was rolled out",
)
@pytest.mark.parametrize("seed", [65, 67])
def test_no_event_is_lost_repeated_or_reordered_during_a_rollout(chaos, seed: int):
    # With these seeds, the first five faults include a rollout of every role and a kill.
    plan = Plan(seed=seed, seconds=30, faults_min=5, kinds=frozenset(KILLED | ROLLED), workers=4)
    run = Run(replace(plan, previous=previous_programs()))
    cluster = run.cluster(chaos)
    for roles in (cluster.workers, cluster.notifiers, cluster.apis):
        assert len({role.command[0] for role in roles}) == 2, "both releases are at work"
    run.on(cluster)
    print(run.figures.text())
    run.verdict()
    assert run.figures.recorded > 2 * run.figures.sources
    assert sum(run.figures.faults.get(kind, 0) for kind in ROLLED) >= 2
