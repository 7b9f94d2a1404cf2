"""The checker itself must see every kind of fault; otherwise its silence means nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.history_checker import HistoryChecker
from harness.receipts import Receipt, Receipts

ROOT = Path(__file__).resolve().parents[2]
HAPPENED = {"src_1": [{"status": s} for s in ("pending", "chargeable", "consumed")]}


def story(*statuses: str) -> list[dict]:
    """Recorded events of one source as they should be."""
    events, previous = [], None
    for seq, status in enumerate(statuses, 1):
        event = {"id": f"evt_{seq}", "source": "src_1", "seq": seq, "type": f"source.{status}"}
        is_last = seq == len(statuses)
        event |= {"previous_status": previous, "status": status, "final": is_last}
        event["closed_reason"] = "settled" if is_last else None
        events.append(event)
        previous = status
    return events


def arrived(events: list[dict]) -> Receipts:
    receipts = Receipts()
    for event in events:
        receipts.add(Receipt.of("webhook", event))
    return receipts


WHOLE = story("pending", "chargeable", "consumed")


def test_a_true_history_passes():
    history = HistoryChecker(HAPPENED, {"src_1": WHOLE})
    history.channel("webhook", arrived(WHOLE))
    history.verdict()


def test_a_status_nobody_could_have_seen_may_be_missing():
    HistoryChecker(HAPPENED, {"src_1": story("pending", "consumed")}).verdict()


@pytest.mark.parametrize(
    "recorded, says",
    [
        ([], "lost"),
        (story("pending", "chargeable"), "last recorded"),
        (story("chargeable", "pending", "consumed"), "out of order"),
        (story("pending", "pending", "consumed"), "repeats"),
        ([WHOLE[0], WHOLE[2]], "seq is"),
        ([*WHOLE[:2], WHOLE[1] | {"seq": 3}, WHOLE[2] | {"seq": 4}], "recorded 2 times"),
        ([*WHOLE[:2], WHOLE[2] | {"final": False}], "final is"),
        ([WHOLE[0], WHOLE[1] | {"previous_status": "failed"}, WHOLE[2]], "follows"),
        (story("pending", "failed", "consumed"), "out of order"),
    ],
    ids="lost unfinished disordered repeated gap twice open chain invented".split(),
)
def test_a_false_record_is_found(recorded, says):
    history = HistoryChecker(HAPPENED, {"src_1": recorded})
    assert any(says in violation for violation in history.violations), history.violations
    with pytest.raises(AssertionError):
        history.verdict()


@pytest.mark.parametrize(
    "got, says",
    [
        (WHOLE[:2], "misses 1"),
        ([WHOLE[1], WHOLE[0], WHOLE[2]], "out of order"),
        ([*WHOLE, WHOLE[2]], "doubled"),
        ([*WHOLE, WHOLE[2] | {"id": "evt_9"}], "never recorded"),
        ([*WHOLE, WHOLE[2] | {"source": "src_9"}], "nobody enqueued"),
    ],
    ids=["missing", "disordered", "doubled", "invented", "foreign"],
)
def test_a_false_delivery_is_found(got, says):
    history = HistoryChecker(HAPPENED, {"src_1": WHOLE})
    history.channel("webhook", arrived(got))
    assert any(says in violation for violation in history.violations), history.violations


def test_mail_is_only_what_a_customer_can_act_on():
    history = HistoryChecker(HAPPENED, {"src_1": WHOLE})
    history.channel("email", arrived(WHOLE[1:]))
    history.verdict()
    history.channel("email", arrived(WHOLE[2:]))
    history.channel("email", arrived(WHOLE))
    assert len(history.violations) == 2, history.violations


def test_a_bad_signature_at_a_sink_is_a_violation():
    receipts = arrived(WHOLE)
    receipts.problem("webhook evt_1: no matching signature")
    history = HistoryChecker(HAPPENED, {"src_1": WHOLE})
    history.channel("webhook", receipts)
    assert history.violations == ["webhook: webhook evt_1: no matching signature"]


CASE = "<testsuite>{}</testsuite>"


@pytest.mark.parametrize(
    "report, status, counts",
    [
        (CASE.format('<testcase/><testcase><failure/><failure/></testcase>'), 1, "1 1 0"),
        (CASE.format("<testcase/><testcase><skipped/></testcase>"), 0, "1 0 1"),
        (CASE.format("<testcase><error/></testcase>"), 1, "0 1 0"),
        (CASE.format("<testcase/>"), 139, "1 1 0"),
        (CASE.format(""), 0, "0 1 0"),
        ("<testsuite><testcase>", 0, "0 1 0"),
        (None, 0, "0 1 0"),
    ],
    ids=["failures", "skips", "errors", "crash after", "no tests", "half a report", "no report"],
)
def test_the_tally_of_ops_test_is_honest(tmp_path: Path, report, status, counts):
    path = tmp_path / "report.xml"
    if report is not None:
        path.write_text(report)
    done = subprocess.run(
        [sys.executable, ROOT / "ops/tally.py", path, str(status)], capture_output=True, text=True
    )
    assert done.stdout.strip() == counts
