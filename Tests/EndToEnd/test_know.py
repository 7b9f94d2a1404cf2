"""`ops/know`: how soon a shop knows, in each way of being told; a few payments, in a hurry."""

import pytest
from know.run import HEAD, MODES, KnowRun

# Some of each kind, by customers who take seconds and banks whose day takes two.
PAYMENTS, HURRY, DAY_S = 24, 10, 20


# The two between them are in `ops/test long`.
@pytest.mark.parametrize(
    "mode", [pytest.param(mode, marks=pytest.mark.long if mode in ("sweep", "webhooks") else ()) for mode in MODES]
)
def test_every_change_is_told_and_its_price_is_known(mode: str):
    run = KnowRun(mode, PAYMENTS, hurry=HURRY, day_s=DAY_S)
    with run.cluster() as cluster:
        known = run.on(cluster)
        if mode.startswith("webhooks"):
            # At least what the customers did was announced.
            assert cluster.taker.metric("poller_stripe_webhooks_total") >= PAYMENTS / 2
    spans = known.waited_s + known.later_s
    assert len(known.waited_s) >= PAYMENTS / 2 and len(known.later_s) >= 2
    # Each change was told after it had happened, and none by chance long before its poll was due.
    assert all(0 <= span < 60 for span in spans), sorted(spans)
    assert known.gets >= 2 * PAYMENTS
    assert (known.sweeps > 0) == (mode != "polling")
    assert abs(known.dropped - known.taken) <= 1 and (known.dropped > 0) == (mode == "webhooks lost")
    row = known.row()
    assert row.count("|") == HEAD.splitlines()[0].count("|") and "nan" not in row
