"""Compares what really happened with what was recorded and what was delivered.

Independent of the system under test: it reads the sandbox's history, the recorded events and the
receipts of each channel, and knows only the guarantees of DESIGN §3.
"""

from collections import Counter

from .receipts import Receipts


def is_mailed(event: dict) -> bool:
    """Whether a customer is told by mail: what is final, authorised, or to be tried again."""
    if event["closed_reason"] or event["status"] in ("chargeable", "requires_capture"):
        return True
    return event["status"] == "requires_payment_method" and event["previous_status"] is not None


class HistoryChecker:
    """Collects every violation instead of stopping at the first: a chaos run is expensive."""

    def __init__(self, happened: dict[str, list[dict]], recorded: dict[str, list[dict]]):
        self.violations: list[str] = []
        self._recorded = recorded
        for source, events in recorded.items():
            statuses = [change["status"] for change in happened.get(source, [])]
            self._check_recorded(source, events, statuses)

    def _say(self, source: str, text: str) -> None:
        self.violations.append(f"{source}: {text}")

    def _check_recorded(self, source: str, events: list[dict], statuses: list[str]) -> None:
        """Gapless seq, each change once, in the order it happened, ending with the last one.

        A status that lived shorter than the poll interval may be missing; nothing else may.
        """
        if not statuses:
            return self._say(source, "recorded, but the upstream never had it")
        if not events:
            return self._say(source, f"lost: nothing recorded of {statuses}")
        seqs = [event["seq"] for event in events]
        if seqs != list(range(1, len(events) + 1)):
            self._say(source, f"seq is {seqs}")
        for event_id, count in Counter(event["id"] for event in events).items():
            if count > 1:
                self._say(source, f"{event_id} recorded {count} times")
        previous, place = None, 0
        for event in events:
            said = event["previous_status"]
            if said != previous:
                self._say(source, f"seq {event['seq']} follows {previous}, says {said}")
            if event["type"].startswith("watch."):
                continue
            if event["status"] == previous:
                self._say(source, f"seq {event['seq']} repeats {previous}")
            previous = event["status"]
            if previous in statuses[place:]:
                place = statuses.index(previous, place) + 1
            else:
                self._say(source, f"seq {event['seq']} says {previous}, out of order: {statuses}")
        if previous != statuses[-1] and events[-1]["type"] != "watch.cancelled":
            self._say(source, f"last recorded {previous}, last happened {statuses[-1]}")
        closed = [event["closed_reason"] for event in events]
        if any(closed[:-1]) or not closed[-1]:
            self._say(source, f"closed_reason is {closed}")
        if events[-1]["final"] != (closed[-1] == "settled"):
            self._say(source, f"final is {events[-1]['final']} although it is {closed[-1]}")

    def channel(
        self, name: str, receipts: Receipts, doubles: bool = False, gaps: bool = False
    ) -> None:
        """Checks one channel: every recorded event, in order, and no other.

        `email` is told only what a customer can act on; see `is_mailed`.

        doubles: an event may arrive again with the same id, as after a crash in mid-attempt.
        gaps: events may be missing, as on pub/sub over a lost connection.
        """
        arrived = receipts.by_source()
        self.violations += [f"{name}: {problem}" for problem in receipts.problems]
        for source, events in self._recorded.items():
            told = [event for event in events if name != "email" or is_mailed(event)]
            wanted = [event["id"] for event in told]
            got = [receipt.event for receipt in arrived.get(source, [])]
            first = list(dict.fromkeys(got))
            missing = [event for event in wanted if event not in first]
            foreign = [event for event in first if event not in wanted]
            doubled = [event for event, count in Counter(got).items() if count > 1]
            if missing and not gaps:
                self._say(source, f"{name} misses {len(missing)} of {len(wanted)}: {missing}")
            if foreign:
                self._say(source, f"{name} brought events never recorded: {foreign}")
            if doubled and not doubles:
                self._say(source, f"{name} doubled {doubled}")
            known = [event for event in first if event in wanted]
            if known != [event for event in wanted if event in first]:
                self._say(source, f"{name} out of order: {known} instead of {wanted}")
        for source in arrived.keys() - self._recorded.keys():
            self._say(source, f"{name} brought an event of a source nobody enqueued")

    def verdict(self) -> None:
        """Fails with every violation, the first twenty in full."""
        shown = "\n".join(self.violations[:20])
        assert not self.violations, f"{len(self.violations)} violations\n{shown}"
