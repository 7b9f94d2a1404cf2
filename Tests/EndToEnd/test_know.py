"""Tests `ops/know`, which measures how soon a shop learns of a change, with a few accelerated payments."""

import pytest
from know.run import HEAD, MODES, KnowRun

# A few payments of each kind. Customers take seconds, and a bank's day of 20 s is shortened to 2 s.
PAYMENTS, HURRY, DAY_S = 24, 10, 20


# Only `ops/test long` runs the two modes in between.
@pytest.mark.parametrize(
    "mode", [pytest.param(mode, marks=pytest.mark.long if mode in ("sweep", "webhooks") else ()) for mode in MODES]
)
def test_every_change_is_reported_and_its_cost_is_measured(mode: str):
    run = KnowRun(mode, PAYMENTS, hurry=HURRY, day_s=DAY_S)
    with run.cluster() as cluster:
        known = run.on(cluster)
        if mode.startswith("webhooks"):
            # The sandbox sent webhooks at least for the customers' actions.
            assert cluster.taker.metric("poller_stripe_webhooks_total") >= PAYMENTS / 2
    spans = known.waited_s + known.later_s
    assert len(known.waited_s) >= PAYMENTS / 2 and len(known.later_s) >= 2
    # Each change was reported after it had happened, and within a minute.
    assert all(0 <= span < 60 for span in spans), sorted(spans)
    assert known.gets >= 2 * PAYMENTS
    assert (known.sweeps > 0) == (mode != "polling")
    assert abs(known.dropped - known.taken) <= 1 and (known.dropped > 0) == (mode == "webhooks lost")
    row = known.row()
    assert row.count("|") == HEAD.splitlines()[0].count("|") and "nan" not in row
