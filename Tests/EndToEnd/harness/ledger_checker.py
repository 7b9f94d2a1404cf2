"""Holds everything that was told of payments against Stripe's ledger: was it true at that instant?"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from .ledger import Ledger, Span

# What the state of a page, or the headline of a mail in English, claims. An empty claim says nothing of
# the money, and so is always true.
CLAIMS = {
    "confirming": set(),
    "waiting": set(),
    "unknown": set(),
    "action": {"awaiting_customer", "partially_paid"},
    "authorised": {"authorised"},
    "processing": {"processing"},
    "confirmed": {"paid"},
    "failed": {"failed"},
    "expired": {"expired", "cancelled"},
    "refunded": {"refunded", "partially_refunded"},
    "disputed": {"disputed"},
    "reversed": {"reversed"},
    "Payment authorised": {"authorised"},
    "Payment being processed": {"processing"},
    "Payment confirmed": {"paid"},
    "Payment failed": {"failed"},
    "Payment cancelled": {"cancelled", "failed"},
    "Time ran out": {"expired"},
    "Payment returned": {"expired"},
    "Payment released": {"expired", "cancelled"},
    "Payment under review": {"disputed"},
    "Payment returned by your bank": {"reversed"},
    "Payment not confirmed yet": set(),
    "Please pay your voucher": set(),
}


@dataclass(frozen=True)
class Statement:
    """Something that was told of a payment.

    claims: the words of which one is claimed; none: it says nothing of the money.
    told_ms: when it was read. A pushed statement has `seen_ms` besides, when the look began that it
        rests on: it must have been true then, however late it arrives. What is shown on request, such
        as a page, must be true when it is shown, but for a bound of staleness.
    event: of what is pushed, the event it is; a word is pushed once.
    """

    channel: str
    payment: str
    claims: frozenset[str]
    told_ms: float
    seen_ms: float | None = None
    event: str | None = None
    endpoint: str = ""
    received: int | None = None
    returned: int | None = None

    def fits(self, span: Span) -> bool:
        return any(
            truth.word in self.claims
            and (
                truth.received is None
                or (self.received in (None, truth.received) and self.returned in (None, truth.returned))
            )
            for truth in span.truths
        )

    def __str__(self) -> str:
        sums = "" if self.received is None else f" with {self.received} received, {self.returned or 0} returned"
        name = f" ({self.event})" if self.event else ""
        return f"{self.channel} said {' or '.join(sorted(self.claims))}{sums}{name}"


def of_event(event: dict, told_ms: float, channel: str = "webhook", endpoint: str = "") -> Statement | None:
    """What an event says of its payment; nil when it says nothing."""
    payment = event.get("payment")
    if not payment:
        return None
    seen_ms = datetime.fromisoformat(event["observed"]["polled_at"]).timestamp() * 1000
    return Statement(
        channel, event["source"], frozenset({payment["state"]}), told_ms, seen_ms, event["id"], endpoint,
        payment.get("amount_received", 0), payment.get("amount_returned", 0),
    )


def of_watch(watch: dict, told_ms: float) -> Statement | None:
    """What `GET /v1/watches/{source}` says of its payment."""
    payment = watch.get("payment")
    if not payment:
        return None
    sums = payment.get("amount_received", 0), payment.get("amount_returned", 0)
    return Statement(
        "api", watch["source"], frozenset({payment["state"]}), told_ms, received=sums[0], returned=sums[1]
    )


def of_text(channel: str, payment: str, text: str, told_ms: float, event: dict | None = None) -> Statement:
    """What a page by its state, or a mail by its title, says; of a mail with the event it is about."""
    assert text in CLAIMS, f"nobody has judged what {text!r} claims"
    seen_ms = event and datetime.fromisoformat(event["observed"]["polled_at"]).timestamp() * 1000
    return Statement(
        channel, payment, frozenset(CLAIMS[text]), told_ms, seen_ms, event["id"] if event else None
    )


class LedgerChecker:
    """Collects every violation; `counts` has them by kind: `false`, `doubled`, `untold`, `charged_twice`.

    look_ms: how long a look may take: what an event says was true at some moment of it.
    stale_ms: how far a page or an answer may lag behind.
    by_time: false where the sandbox's clock was moved. Then the order alone is held against the
        ledger: each channel's statements must follow each other as the truths did.
    """

    # The clocks of the sandbox and of Redis are the machine's, each rounded to a millisecond.
    ROUNDING_MS = 5

    def __init__(self, ledger: Ledger, look_ms: float = 2000, stale_ms: float = 20_000, by_time: bool = True):
        self.violations: list[str] = []
        self.counts: Counter = Counter()
        self._ledger = ledger
        self._look_ms = look_ms
        self._stale_ms = stale_ms
        self._by_time = by_time
        # By channel, endpoint and payment, in the order of arrival.
        self._pushed: dict[tuple[str, str, str], list[Statement]] = {}

    def _say(self, payment: str, text: str, kind: str) -> None:
        self.violations.append(f"{payment}: {text}")
        self.counts[kind] += 1

    def hear(self, statements, doubles: bool = False) -> None:
        """Checks statements in the order of their arrival.

        doubles: the same event may come again, as after a crash in mid-attempt.
        """
        rows: dict[tuple[str, str, str], list[Statement]] = {}
        for statement in filter(None, statements):
            rows.setdefault((statement.channel, statement.endpoint, statement.payment), []).append(statement)
        for key, row in rows.items():
            self._check_truth(key[2], row)
            pushed = self._pushed.setdefault(key, [])
            for statement in row:
                if statement.event:
                    self._check_once(statement, pushed, doubles)
                    pushed.append(statement)

    def _check_truth(self, payment: str, row: list[Statement]) -> None:
        spans, place = self._ledger.spans(payment), 0
        for statement in row:
            if not statement.claims:
                continue
            if not spans:
                self._say(payment, f"{statement} of a payment that never was", "false")
            elif self._by_time:
                if not any(statement.fits(span) for span in self._around(statement, spans)):
                    self._say(payment, f"{statement}; true was {self._truths(statement, spans)}", "false")
            else:
                found = next((n for n in range(place, len(spans)) if statement.fits(spans[n])), None)
                if found is None:
                    rest = [sorted(truth.word for truth in span.truths) for span in spans[place:]]
                    self._say(payment, f"{statement}; what followed was {rest}", "false")
                place = place if found is None else found

    def _around(self, statement: Statement, spans: list[Span]) -> list[Span]:
        if statement.seen_ms is None:
            begin, end = statement.told_ms - self._stale_ms, statement.told_ms
        else:
            begin, end = statement.seen_ms, statement.seen_ms + self._look_ms
        return [span for span in spans if span.meets(begin - self.ROUNDING_MS, end + self.ROUNDING_MS)]

    def _truths(self, statement: Statement, spans: list[Span]) -> list[str]:
        return [str(truth) for span in self._around(statement, spans) for truth in span.truths]

    def _check_once(self, statement: Statement, before: list[Statement], doubles: bool) -> None:
        if any(other.event == statement.event for other in before):
            if not doubles:
                self._say(statement.payment, f"{statement} again", "doubled")
            return
        last = before[-1] if before else None
        same = last and (last.claims, last.received, last.returned) == (
            statement.claims, statement.received, statement.returned,
        )
        # Other events, of the status or of the next step, carry the word along.
        if same and statement.claims and statement.channel == "mail":
            self._say(statement.payment, f"{statement}, which it had said", "doubled")

    def told_once(self, events: dict[str, list[dict]]) -> None:
        """Checks recorded events: each change of the payment is one `payment.*` event, and no other is."""
        for payment, row in events.items():
            told = None
            for event in row:
                said = event.get("payment")
                if not said:
                    continue
                word, is_news = said["state"], event["type"].startswith("payment.")
                if is_news and event["type"] != f"payment.{word}":
                    self._say(payment, f"{event['id']} is {event['type']} and says {word}", "false")
                if is_news and said == told:
                    self._say(payment, f"{event['id']} tells {word} again", "doubled")
                if not is_news and told is not None and word != told["state"]:
                    self._say(payment, f"{event['id']} says {word}, which no event had told", "untold")
                told = said

    def ended(self, channels: list[str], among: set[str] | None = None) -> None:
        """Checks that each channel was told the last word of each payment, and no order was charged twice."""
        for payment in sorted(self._ledger.payments if among is None else among):
            last = self._ledger.last(payment)
            for channel in channels:
                rows = [row for key, row in self._pushed.items() if (key[0], key[2]) == (channel, payment)]
                for row in rows or [[]]:
                    said = row[-1] if row else None
                    if not said or not any(truth.word in said.claims for truth in last):
                        words = " or ".join(sorted(truth.word for truth in last))
                        text = f"{channel} ended with {said or 'nothing'}; the last truth is {words}"
                        self._say(payment, text, "untold")
        for order, charges in self._ledger.money_by_order().items():
            if len(charges) > 1:
                self._say(order, f"charged {len(charges)} times: {charges}", "charged_twice")

    def verdict(self) -> None:
        """Fails with every violation, the first twenty in full."""
        shown = "\n".join(self.violations[:20])
        assert not self.violations, f"{len(self.violations)} violations\n{shown}"
