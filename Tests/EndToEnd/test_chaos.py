"""Tests in short chaos runs that no event is lost, repeated or reordered when processes are killed or frozen.

`ops/chaos` runs the same for minutes. The seed determines each fault, its target and its time. It does not
determine the processes' state at that moment, so the logs of a failed run are kept.
"""

import pytest

from chaos.run import Plan, Run

ROLES = {"worker killed", "worker frozen", "notifier frozen", "api killed"}
# Moving slots has a separate test in test_chaos_failover.py.
REDIS = {"redis killed", "redis frozen"}
SHORTAGES = {"redis full", "objects forbidden", "worker killed"}


@pytest.mark.parametrize(
    "plan",
    [
        Plan("standalone", seed=17, seconds=12, kinds=frozenset(ROLES | REDIS)),
        pytest.param(Plan("standalone", seed=21, seconds=12, kinds=frozenset(SHORTAGES)), marks=pytest.mark.long),
        pytest.param(Plan("sentinel", seed=12, seconds=12, sources=60, kinds=frozenset(ROLES | REDIS)), marks=pytest.mark.long),
        Plan("cluster", seed=13, seconds=12, sources=60, kinds=frozenset(ROLES | REDIS)),
    ],
    ids=lambda plan: plan.store,
)
def test_no_event_is_lost_repeated_or_reordered_under_faults(chaos, plan: Plan):
    run = Run(plan)
    run.on(run.cluster(chaos))
    print(run.figures.text())
    run.verdict()
    # A run without faults or events proves nothing.
    assert run.figures.recorded > 2 * run.figures.sources
    assert sum(run.figures.faults.values()) >= 2


def test_waiting_for_replicas_prevents_loss_in_a_failover(chaos):
    plan = Plan(
        "sentinel", seed=14, seconds=10, sources=60, wait_replicas=2, kinds=frozenset(REDIS)
    )
    run = Run(plan)
    run.on(run.cluster(chaos))
    print(run.figures.text())
    run.verdict()
    assert run.figures.faults
