"""Tests that the history checker detects every kind of fault; otherwise its success means nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.history_checker import HistoryChecker
from harness.receipts import Receipt, Receipts

ROOT = Path(__file__).resolve().parents[2]
HAPPENED = {"src_1": [{"status": s} for s in ("pending", "chargeable", "consumed")]}


def story(*statuses: str) -> list[dict]:
    """Returns the correct recorded events of one source."""
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


def test_an_intent_that_returned_to_a_status_unobserved_may_repeat_it():
    happened = [{"status": s} for s in ("requires_action", "processing", "requires_action", "succeeded")]
    recorded = story("requires_action", "requires_action", "succeeded")
    HistoryChecker({"pi_1": happened}, {"pi_1": recorded}).verdict()
    with pytest.raises(AssertionError, match="repeats"):
        HistoryChecker({"pi_1": happened[2:]}, {"pi_1": recorded}).verdict()


def test_a_status_that_no_poll_could_observe_may_be_missing():
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
def test_a_false_record_is_detected(recorded, says):
    history = HistoryChecker(HAPPENED, {"src_1": recorded})
    assert any(says in violation for violation in history.violations), history.violations
    with pytest.raises(AssertionError):
        history.verdict()


def beside(event: dict, seq: int, state: str, status: str | None) -> dict:
    """Returns a payment event that repeats the status of the previous event."""
    return event | {
        "id": f"evt_{state}_{seq}", "seq": seq, "type": f"payment.{state}", "status": status,
        "previous_status": status, "final": False, "closed_reason": None,
        "payment": {"state": state, "amount_received": 0},
    }


def paid(status: str = "chargeable", **changes) -> list[dict]:
    """Returns a history with a payment event before its end; `changes` modify that event."""
    word = beside(WHOLE[2], 3, "paid", status) | changes
    return [*WHOLE[:2], word, WHOLE[2] | {"seq": 4}]


def test_payment_events_may_repeat_the_status_and_nothing_else():
    HistoryChecker(HAPPENED, {"src_1": paid()}).verdict()


@pytest.mark.parametrize(
    "recorded, says",
    [
        (paid("consumed"), "is beside chargeable, says consumed"),
        (paid(type="payment.failed"), "is payment.failed of"),
        ([*paid()[:3], beside(WHOLE[2], 4, "paid", "chargeable"), WHOLE[2] | {"seq": 5}], "repeats"),
    ],
    ids="early other twice".split(),
)
def test_a_false_payment_state_is_detected(recorded, says):
    history = HistoryChecker(HAPPENED, {"src_1": recorded})
    assert any(says in violation for violation in history.violations), history.violations


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
def test_a_false_delivery_is_detected(got, says):
    history = HistoryChecker(HAPPENED, {"src_1": WHOLE})
    history.channel("webhook", arrived(got))
    assert any(says in violation for violation in history.violations), history.violations


TIMES = {"pending": 1000, "chargeable": 5000, "consumed": 9000}


def timed(events: list[dict], **polls: int) -> list[dict]:
    """Returns the same events with the times of their polls, in ms."""
    result = []
    for event in events:
        at_ms = polls.get(event["status"], TIMES[event["status"]] + 100)
        polled_at = f"1970-01-01T00:00:{at_ms / 1000:06.3f}Z"
        result.append(event | {"observed": {"polled_at": polled_at}})
    return result


def checked(events: list[dict], **options) -> HistoryChecker:
    happened = {"src_1": [{"status": s, "at_ms": at} for s, at in TIMES.items()]}
    return HistoryChecker(happened, {"src_1": events}, seen_within_ms=2000, **options)


def test_a_status_observed_while_it_lasted_is_valid_and_its_delay_is_measured():
    history = checked(timed(WHOLE, pending=4000), noticed_within_ms=3500)
    history.verdict()
    assert history.noticed_ms == [3000, 100, 100]


@pytest.mark.parametrize(
    "polls, says",
    [({"chargeable": 2500}, "out of order"), ({"pending": 7500}, "out of order")],
    ids=["before it was", "after it was over"],
)
def test_a_status_recorded_at_a_time_when_it_did_not_exist_is_detected(polls, says):
    history = checked(timed(WHOLE, **polls))
    assert any(says in violation for violation in history.violations), history.violations
    assert history.counts["disordered"] > 0


def test_a_lasting_status_that_was_not_recorded_counts_as_lost():
    events = timed(story("pending", "consumed"))
    checked(events).verdict()
    history = checked(events, noticed_within_ms=3000)
    assert history.counts["lost"] == 1 and "lasted 4000 ms" in history.violations[0]
    [(source, begin, end)] = history.late
    assert (source, end - begin) == ("src_1", 4000)
    # After a refused poll the watch backs off. The status may be recorded later, but only if the refusal was
    # meanwhile.
    checked(events, noticed_within_ms=3000, refused={"src_1": [begin + 500]}).verdict()
    assert checked(events, noticed_within_ms=3000, refused={"src_1": [begin - 500]}).late
    assert checked(events, noticed_within_ms=3000, refused={"src_2": [begin + 500]}).late


def test_a_poll_that_observed_the_next_status_does_not_hide_recorded_ones():
    # The last poll began within 3.5 s of `chargeable`, and was answered after that status had ended, after 4 s.
    events = timed(WHOLE, consumed=TIMES["chargeable"] + 3000)
    checked(events, noticed_within_ms=3500).verdict()


# The effect of a failover: the second event is lost although it was delivered, and another one takes its place.
LOST = WHOLE[1] | {"id": "evt_lost"}
REWOUND = [WHOLE[0], LOST, WHOLE[1], WHOLE[2]]


def test_events_undone_by_a_failover_count_once_and_only_if_allowed():
    history = HistoryChecker(HAPPENED, {"src_1": REWOUND}, lineages=True)
    history.channel("webhook", arrived(REWOUND), foreign=True)
    history.agrees("src_1", WHOLE)
    history.verdict()
    assert history.rewound == 1
    strict = HistoryChecker(HAPPENED, {"src_1": REWOUND})
    assert strict.counts["doubled"] > 0
    # A cluster that waits for its replicas delivers no event that can be lost.
    history.channel("webhook", arrived(REWOUND))
    assert any("never recorded" in violation for violation in history.violations)


def test_a_payment_event_before_the_first_status_may_be_read_twice():
    first = WHOLE[0] | {"id": "evt_0", "type": "payment.authorised", "status": None}
    first |= {"payment": {"state": "authorised"}}
    read = [first, *(event | {"seq": event["seq"] + 1} for event in WHOLE)]
    HistoryChecker(HAPPENED, {"src_1": read + read}, lineages=True).verdict()
    invented = [read[0] | {"type": "source.pending"}, *read[1:]]
    history = HistoryChecker(HAPPENED, {"src_1": invented + read}, lineages=True)
    assert any("says None" in violation for violation in history.violations)


def test_an_event_delivered_and_then_lost_must_have_been_true():
    glimpsed = WHOLE[1] | {"id": "evt_glimpsed"}
    history = HistoryChecker(HAPPENED, {"src_1": WHOLE}, lineages=True)
    for channel in ("websocket", "redis"):
        told = [WHOLE[0], glimpsed, *WHOLE[1:]]
        history.channel(channel, arrived(told), doubles=True, foreign=True)
    history.verdict()
    assert history.rewound == 1
    invented = glimpsed | {"status": "failed"}
    history.channel("redis", arrived([*WHOLE, invented]), foreign=True)
    assert any("never recorded" in violation for violation in history.violations)
    assert history.counts["false"] == 1


@pytest.mark.parametrize(
    "recorded, got, says",
    [
        ([*REWOUND[:1], LOST | {"status": "failed"}, *REWOUND[2:]], REWOUND, "never was"),
        (REWOUND[:3], REWOUND[:3], "last recorded"),
        (REWOUND, [WHOLE[0], LOST, WHOLE[2]], "misses 1"),
        (REWOUND, [*REWOUND, WHOLE[1]], "out of order"),
    ],
    ids=["invented", "unfinished", "told of the lost one only", "the last one not last"],
)
def test_a_failover_excuses_no_other_fault(recorded, got, says):
    history = HistoryChecker(HAPPENED, {"src_1": recorded}, lineages=True)
    history.channel("webhook", arrived(got), doubles=True, foreign=True)
    assert any(says in violation for violation in history.violations), history.violations


def test_events_of_two_masters_may_repeat_but_not_after_the_last_one():
    repeated = arrived([*WHOLE[:2], WHOLE[0], WHOLE[2]])
    history = HistoryChecker(HAPPENED, {"src_1": WHOLE}, lineages=True)
    history.channel("webhook", repeated, doubles=True, foreign=True)
    assert history.counts["disordered"] == 1
    history = HistoryChecker(HAPPENED, {"src_1": WHOLE}, lineages=True, two_masters=True)
    history.channel("webhook", repeated, doubles=True, foreign=True)
    history.verdict()
    history.channel("webhook", arrived([*WHOLE, WHOLE[1]]), doubles=True, foreign=True)
    assert history.counts["disordered"] == 1
    # Without a repeat, the order of the first two events is wrong.
    history.channel("webhook", arrived([WHOLE[1], WHOLE[0], WHOLE[2]]), doubles=True, foreign=True)
    assert history.counts["disordered"] == 2


def test_a_log_that_differs_from_the_outbox_is_detected():
    history = HistoryChecker(HAPPENED, {"src_1": WHOLE})
    history.agrees("src_1", WHOLE[1:])
    history.verdict()
    history.agrees("src_1", WHOLE[:2])
    assert history.counts["lost"] == 1


def test_violations_are_counted_by_kind():
    history = HistoryChecker(HAPPENED, {"src_1": WHOLE, "src_2": []})
    history.channel("webhook", arrived([WHOLE[1], WHOLE[0], WHOLE[1]]))
    assert history.counts == {"lost": 1, "doubled": 1, "disordered": 1, "false": 1}


def test_a_mail_is_expected_only_if_the_customer_can_act_on_it():
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
        (CASE.format(""), 139, "0 1 0"),
        ("<testsuite><testcase>", 0, "0 1 0"),
        (None, 0, "0 1 0"),
    ],
    ids=["failures", "skips", "errors", "crash after", "no tests", "crash before", "half a report", "no report"],
)
def test_the_tally_of_ops_test_counts_correctly(tmp_path: Path, report, status, counts):
    path = tmp_path / "report.xml"
    if report is not None:
        path.write_text(report)
    done = subprocess.run(
        [sys.executable, ROOT / "ops/tally.py", path, str(status)], capture_output=True, text=True
    )
    first, *failures = done.stdout.splitlines()
    assert first == counts
    assert len(failures) == int(counts.split()[1]), "each failure is named"


def test_the_tally_names_failed_tests_and_reasons(tmp_path: Path):
    path = tmp_path / "report.xml"
    path.write_text(
        CASE.format('<testcase classname="Tests.Clock" name="ticks()"><failure message="1 is not\n 2"/></testcase>')
    )
    done = subprocess.run([sys.executable, ROOT / "ops/tally.py", path, "1"], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["0 1 0", "failed: Tests.Clock.ticks(): 1 is not 2"]


def test_the_tally_names_the_slowest_tests(tmp_path: Path):
    path = tmp_path / "report.xml"
    cases = (f'<testcase classname="C" name="t{seconds}" time="{seconds}"/>' for seconds in range(1, 31))
    path.write_text(CASE.format("".join(cases)))
    done = subprocess.run([sys.executable, ROOT / "ops/tally.py", path, "0"], capture_output=True, text=True)
    counts, *slowest = done.stdout.splitlines()
    assert counts == "30 0 0"
    assert slowest == [f"took: {seconds:.1f} C.t{seconds}" for seconds in range(30, 10, -1)]
