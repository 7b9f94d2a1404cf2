"""Compares the upstream's history with the recorded and the delivered events.

Independent of the system under test: it reads the sandbox's history, the recorded events and each channel's
receipts. It knows only the promises of Guarantees.md.
"""

from bisect import bisect_right
from collections import Counter
from datetime import datetime

from .receipts import Receipts


def is_beside(event: dict) -> bool:
    """Returns whether an event is about the payment, order or next step, so that it repeats the last status."""
    return event["type"].startswith(("payment.", "refund.", "order.", "mandate.")) or event["type"] == "next_step.changed"


# Payment states for which the customer always gets a mail.
MAILED = {"partially_paid", "expired", "cancelled", "refunded", "partially_refunded"}
# Next steps that the customer can do later, without a page of the shop.
MAILED_STEPS = {"transfer", "pay_voucher", "verify_microdeposits", "await_debit"}


def was_disputed(event: dict) -> bool:
    """Returns whether the object of an event is a disputed charge, or an intent with one."""
    found = event.get("object") or {}
    charge = found.get("latest_charge") if event.get("kind") == "payment_intent" else found
    return isinstance(charge, dict) and charge.get("disputed") is True


def is_mailed(event: dict) -> bool:
    """Returns whether the customer gets a mail: about the money, or about a next step outside the shop.

    An event without a payment is judged by its status: it is mailed if it is final, authorised or needs another
    attempt.
    """
    if event["type"] == "mandate.notification":
        return True
    if payment := event.get("payment"):
        state, reason = payment["state"], payment.get("reason")
        step = (event.get("next_step") or {}).get("type")
        waits = state == "awaiting_customer" or (state == "processing" and step == "await_debit")
        asked = waits and step in MAILED_STEPS
        # If a refund needs the customer's account number, only that request is mailed.
        if step == "give_refund_account":
            return event["type"] == "next_step.changed"
        if event["type"].startswith("refund."):
            return state in ("paid", "partially_refunded")
        if event["type"] != f"payment.{state}":
            return event["type"] == "next_step.changed" and asked
        # A returned sum is mailed once.
        before = event.get("previous_amount_returned", 0)
        if state in ("paid", "refunded", "partially_refunded") and 0 < before >= payment.get("amount_returned", 0):
            return False
        return (
            (state in MAILED and reason != "dispute_lost")
            or (state == "paid" and reason != "inquiry" and not payment.get("refund") and not was_disputed(event))
            or (state == "authorised" and reason not in ("saved", "window_closing"))
            or (state == "authorised" and reason == "saved" and event.get("kind") == "setup_intent")
            or (state == "failed" and reason != "customer_aborted")
            or (state == "processing" and not asked)
        )
    if is_beside(event):
        return False
    status, previous, is_end = event["status"], event["previous_status"], bool(event["closed_reason"])
    charge = (event.get("charge") or {}).get("state")
    if event["type"].startswith("watch.") or (is_end and charge == "succeeded"):
        return True
    if event["type"].startswith("charge."):
        return event["type"] == "charge.failed" or is_end
    # An event that repeats the status is about another detail. A failed charge has its own event.
    if status in ("chargeable", "requires_capture"):
        return status != previous and charge != "failed"
    if status == "requires_payment_method":
        found = event.get("object") or {}
        has_failed = found.get("last_payment_error") or found.get("last_setup_error")
        return bool(has_failed) or (is_end if previous is None else status != previous)
    return is_end or status == "consumed"


def polled_ms(event: dict) -> float:
    """Returns the start of the poll that observed an event, in ms by the store's clock."""
    return datetime.fromisoformat(event["observed"]["polled_at"]).timestamp() * 1000


class HistoryChecker:
    """Collects every violation instead of stopping at the first, because a chaos run is expensive.

      happened: each source's statuses as they were at the sandbox, oldest first.
      recorded: each source's events in the order of their recording.
      lineages: Redis may have lost acknowledged writes in a failover. Then events may be recorded
        again from an earlier `seq`. The last event of each `seq` is the record, but a dropped event
        must have been true too. Otherwise all checks are strict.
      seen_within_ms: the period from the start of a poll in which the source must have had the
        event's status at some moment; `None` if the sandbox's clock was moved.
      two_masters: for a while two masters accepted writes without waiting for replicas. Both deliver
        the events that they share, each at its own time.
      noticed_within_ms: a status that lasted longer than this must be recorded by then. If polls of
        the source were refused meanwhile, a minute is added, which is the longest backoff of a watch.
      refused: the times in ms at which polls of a source were refused.

    `counts` has the violations by kind: `lost`, `doubled`, `disordered` and `false`.
    """

    # The sandbox and Redis use the machine's clock, each rounded to a millisecond.
    ROUNDING_MS = 5
    BACKED_OFF_MS = 60_000

    def __init__(
        self,
        happened: dict[str, list[dict]],
        recorded: dict[str, list[dict]],
        lineages: bool = False,
        two_masters: bool = False,
        seen_within_ms: float | None = None,
        noticed_within_ms: float | None = None,
        refused: dict[str, list[float]] | None = None,
    ):
        self.violations: list[str] = []
        # Long-lasting statuses that were not recorded: source, start and end in ms.
        self.late: list[tuple[str, float, float]] = []
        self.counts: Counter = Counter()
        # The number of events that a failover lost and that were recorded again later, possibly with other content.
        self.rewound = 0
        # Lost events that were delivered before any reader found them in the store.
        self._glimpsed: set[str] = set()
        self._statuses = {s: {c["status"] for c in changes} for s, changes in happened.items()}
        # The time from each matched change to its poll.
        self.noticed_ms: list[float] = []
        self._lineages = lineages
        self._two_masters = two_masters
        self._seen_within_ms = seen_within_ms
        self._noticed_within_ms = noticed_within_ms
        self._refused = refused or {}
        self._recorded: dict[str, list[dict]] = {}
        self._ever: dict[str, set[str]] = {}
        for source, events in recorded.items():
            changes = happened.get(source, [])
            self._ever[source] = {event["id"] for event in events}
            self._recorded[source] = self._present(source, events, changes) if lineages else events
            self._check_recorded(source, self._recorded[source], changes)

    def _say(self, source: str, text: str, kind: str = "false", count: int = 1) -> None:
        self.violations.append(f"{source}: {text}")
        self.counts[kind] += count

    def _present(self, source: str, events: list[dict], changes: list[dict]) -> list[dict]:
        """Returns the events that remain after every rewind; a lower `seq` starts a new lineage."""
        present: list[dict] = []
        statuses = {change["status"] for change in changes}
        for event in events:
            while present and present[-1]["seq"] >= event["seq"]:
                dropped = present.pop()
                # An event that was read twice, from the outbox and from the log, is not a rewind.
                self.rewound += dropped["id"] != event["id"] and dropped["seq"] == event["seq"]
                # A payment or next-step event may precede the first status.
                is_first = dropped["status"] is None and is_beside(dropped)
                if dropped["status"] not in statuses and not is_first:
                    self._say(source, f"{dropped['id']}, {dropped['type']}, says {dropped['status']}, which never was")
            present.append(event)
        return present

    def _check_recorded(self, source: str, events: list[dict], changes: list[dict]) -> None:
        """Checks for a gapless `seq` and for each change once, in order, up to the last one.

        Only a status that lasted less than the poll interval may be missing.
        """
        statuses = [change["status"] for change in changes]
        if not statuses:
            return self._say(source, "recorded, but the upstream never had it")
        if not events:
            return self._say(source, f"lost: nothing recorded of {statuses}", "lost")
        seqs = [event["seq"] for event in events]
        if seqs != list(range(1, len(events) + 1)):
            missing = set(range(1, max(seqs) + 1)) - set(seqs)
            kind = "lost" if missing else "doubled" if len(set(seqs)) < len(seqs) else "disordered"
            self._say(source, f"seq is {_shown(seqs)}", kind, max(len(missing), 1))
        for event_id, count in Counter(event["id"] for event in events).items():
            if count > 1:
                self._say(source, f"{event_id} recorded {count} times", "doubled", count - 1)
        previous, place, word = None, -1, None
        for event in events:
            said = event["previous_status"]
            if said != previous:
                self._say(source, f"seq {event['seq']} follows {previous}, says {said}")
            if is_beside(event):
                if event["status"] != previous:
                    self._say(source, f"seq {event['seq']} is beside {previous}, says {event['status']}")
                if event["type"] == "payment." + event["payment"]["state"]:
                    if event["payment"] == word:
                        self._say(source, f"seq {event['seq']} repeats {word}", "doubled")
                    word = event["payment"]
                elif event["type"].startswith("payment."):
                    text = f"seq {event['seq']} is {event['type']} of {event['payment']}"
                    self._say(source, text)
                continue
            if event["type"].startswith("watch."):
                continue
            found = self._place(event, changes, place)
            # An intent may have left a status and returned between polls, with another error or next step.
            is_back = found is not None and source.startswith(("pi_", "seti_"))
            if event["status"] == previous and not is_back:
                self._say(source, f"seq {event['seq']} repeats {previous}", "doubled")
            previous = event["status"]
            if found is None:
                text = f"seq {event['seq']} says {previous}, out of order: {_shown(statuses)}"
                self._say(source, text + self._moments(event, changes, place), "disordered")
            else:
                place = found
                if self._seen_within_ms is not None:
                    self.noticed_ms.append(polled_ms(event) - changes[place]["at_ms"])
        if previous != statuses[-1] and events[-1]["type"] != "watch.cancelled":
            last = f"last recorded {previous}, last happened {statuses[-1]}"
            self._say(source, last, "lost")
        closed = [event["closed_reason"] for event in events]
        if any(closed[:-1]) or not closed[-1]:
            self._say(source, f"closed_reason is {_shown(closed)}")
        if events[-1]["final"] != (closed[-1] == "settled"):
            self._say(source, f"final is {events[-1]['final']} although it is {closed[-1]}")
        if self._noticed_within_ms is not None:
            self._check_noticed(source, events, changes)

    def _moments(self, event: dict, changes: list[dict], place: int) -> str:
        """Describes the changes since the previous match, in seconds relative to the event's poll."""
        if self._seen_within_ms is None:
            return ""
        polled = polled_ms(event)
        since = [f"{c['status']} {(c['at_ms'] - polled) / 1000:+.2f}" for c in changes[max(place, 0) :][:8]]
        return f"; after its poll: {', '.join(since)}"

    def _place(self, event: dict, changes: list[dict], after: int) -> int | None:
        """Returns the index of the first change after `after` that the event's poll can have observed."""
        begin = end = None
        if self._seen_within_ms is not None:
            begin = polled_ms(event) - self.ROUNDING_MS
            end = begin + self._seen_within_ms + self.ROUNDING_MS
        for place in range(after + 1, len(changes)):
            change = changes[place]
            if begin is not None:
                if change["at_ms"] > end:
                    return None
                is_over = place + 1 < len(changes) and changes[place + 1]["at_ms"] < begin
                if is_over:
                    continue
            if change["status"] == event["status"]:
                return place
        return None

    def _check_noticed(self, source: str, events: list[dict], changes: list[dict]) -> None:
        """Checks that each status that lasted long enough was recorded in time."""
        times = [polled_ms(event) for event in events]
        # The watch may have been enqueued long after the source was created.
        for change, following in zip(changes, changes[1:]):
            begin = max(change["at_ms"], times[0])
            moment = begin + self._noticed_within_ms
            if any(begin <= at < moment for at in self._refused.get(source, [])):
                moment += self.BACKED_OFF_MS
            if moment >= following["at_ms"]:
                continue
            # The event known when the status began, and those that polls recorded until `moment`. The last poll may
            # have begun before `moment` and been answered after it.
            known = events[max(bisect_right(times, begin) - 1, 0) : bisect_right(times, moment)]
            if all(event["status"] != change["status"] for event in known):
                lasted = following["at_ms"] - change["at_ms"]
                text = f"{change['status']} lasted {lasted} ms and is not on record"
                self._say(source, text, "lost")
                self.late.append((source, change["at_ms"], following["at_ms"]))

    @property
    def recorded(self) -> dict[str, list[dict]]:
        """The events that count as the record of each source."""
        return self._recorded

    def agrees(self, source: str, listed: list[dict]) -> None:
        """Checks that the watch's log, as the API lists it, ends with the same events as the record."""
        wanted = [event["id"] for event in self._recorded[source]][-len(listed) :]
        got = [event["id"] for event in listed]
        if not got or got != wanted:
            text = f"its log says {_shown(got)}, the outbox said {_shown(wanted)}"
            self._say(source, text, "lost")

    def channel(
        self,
        name: str,
        receipts: Receipts,
        doubles: bool = False,
        gaps: bool = False,
        foreign: bool = False,
        among: set[str] | None = None,
    ) -> None:
        """Checks that a channel delivered every recorded event, in order, and no other.

        `email` gets only events that a customer can act on; see `is_mailed`.

          doubles: an event may arrive again with the same ID, as after a crash in mid-attempt.
          gaps: events may be missing, as on pub/sub over a lost connection.
          foreign: an event may have been delivered and then lost with its lineage. It must have been true.
          among: the sources that are delivered on the channel; all by default.
        """
        arrived = receipts.by_source()
        for problem in receipts.problems:
            self.violations.append(f"{name}: {problem}")
            self.counts["false"] += 1
        recorded = {s: e for s, e in self._recorded.items() if among is None or s in among}
        for source, events in recorded.items():
            wanted = {e["id"]: n for n, e in enumerate(events) if name != "email" or is_mailed(e)}
            receipts_of_source = arrived.get(source, [])
            got = [receipt.event for receipt in receipts_of_source]
            times = Counter(got)
            missing = [event for event in wanted if event not in times]
            unknown = [event for event in times if event not in wanted]
            if foreign:
                # A failover may have lost an event right after its delivery, before any reader found it in the
                # store.
                said = {receipt.event: receipt.status for receipt in receipts_of_source}
                lost = {e for e in unknown if said[e] in self._statuses[source]}
                unknown = [event for event in unknown if event not in lost]
                new = lost - self._ever[source] - self._glimpsed
                self._glimpsed |= new
                self.rewound += len(new)
            doubled = [event for event, count in times.items() if count > 1]
            if missing and not gaps:
                told = [receipt.seq for receipt in receipts_of_source]
                text = f"{name} misses {len(missing)} of {len(wanted)}: {_shown(missing)}, seq "
                text += f"{_shown([wanted[e] + 1 for e in missing])}; it brought {_shown(told)}"
                self._say(source, text, "lost", len(missing))
            if unknown:
                text = f"{name} brought events never recorded: {_shown(unknown)}"
                self._say(source, text, "false", len(unknown))
            if doubled and not doubles:
                self._say(source, f"{name} doubled {_shown(doubled)}", "doubled", len(doubled))
            if not self._is_in_order([wanted[event] for event in got if event in wanted]):
                brought = [wanted.get(event, event) for event in got]
                self._say(source, f"{name} out of order: it brought {_shown(brought)}", "disordered")
        for source in arrived.keys() - recorded.keys():
            self._say(source, f"{name} brought an event of a source nobody enqueued")

    def _is_in_order(self, places: list[int]) -> bool:
        """Returns whether the recorded events arrived in order, not counting repeats."""
        if self._two_masters:
            # With two masters, [0, 1, 2, 1, 3] is in order. [0, 2, 1, 3] and [0, 1, 2, 1] are not: the order of
            # first arrivals or the last event is wrong.
            rest = sorted(set(places), reverse=True)
            for place in places:
                if rest and place == rest[-1]:
                    rest.pop()
            return not rest and (not places or places[-1] == max(places))
        once = list(dict.fromkeys(places))
        if self._lineages:
            # An event that was delivered, lost and recorded again after another one arrives twice. Its last arrival
            # counts.
            once = list(dict.fromkeys(reversed(places)))[::-1]
        return once == sorted(once)

    def verdict(self) -> None:
        """Fails with the number of violations and the text of the first twenty."""
        shown = "\n".join(self.violations[:20])
        assert not self.violations, f"{len(self.violations)} violations\n{shown}"


def _shown(values: list) -> str:
    """Formats a list, shortened to its last 24 values."""
    return str(values) if len(values) <= 24 else f"[… {', '.join(map(repr, values[-24:]))}]"
