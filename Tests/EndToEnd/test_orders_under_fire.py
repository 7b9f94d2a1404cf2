"""Orders of every kind while processes die at every step: each charged once at most, and told how it ended.

POLLER_ORDERS says how many, as `ops/chaos orders` does for ten thousand; the seed says which dies when.
"""

import os

from chaos.kinds import KINDS
from chaos.orders import OrderRun

ORDERS = int(os.environ.get("POLLER_ORDERS", 4 * len(KINDS)))
SEED = int(os.environ.get("POLLER_SEED", "12"))


def test_orders_of_every_kind_end_once_whoever_dies():
    run = OrderRun(ORDERS, SEED)
    with run.cluster() as cluster:
        run.on(cluster)
        report = cluster.report() if run.violations else ""
    print(run.figures.text())
    assert not run.violations, "\n".join([*run.violations[:20], report])
    found = run.figures
    assert found.charges and found.looks >= 2 * ORDERS and found.mails and found.webhooks >= found.events
    assert sum(found.kills.values()) >= 3, "nothing happened to anybody"
