"""Tests orders of every kind while processes are killed at every step: at most one charge and one reported end each.

POLLER_ORDERS sets the number of orders (`ops/chaos orders` uses ten thousand).
The seed decides which process dies when.
"""

import os

import pytest
from chaos.kinds import KINDS
from chaos.orders import OrderRun

ORDERS = os.environ.get("POLLER_ORDERS")
SEED = int(os.environ.get("POLLER_SEED", "12"))


@pytest.mark.parametrize("of_each", [2, pytest.param(4, marks=pytest.mark.long)])
def test_orders_of_every_kind_end_once_despite_kills(of_each: int):
    orders = int(ORDERS or of_each * len(KINDS))
    run = OrderRun(orders, SEED)
    with run.cluster() as cluster:
        run.on(cluster)
        report = cluster.report() if run.violations else ""
    print(run.figures.text())
    assert not run.violations, "\n".join([*run.violations[:20], report])
    found = run.figures
    assert found.charges and found.looks >= 2 * orders and found.mails and found.webhooks >= found.events
    assert sum(found.kills.values()) >= 3, "no process was killed"
