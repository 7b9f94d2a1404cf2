"""Checks every statement about a payment against Stripe's ledger: was it true at that instant?"""

from collections import Counter

from .ledger import Ledger, Span
from .statements import Statement


class LedgerChecker:
    """Collects every violation; `counts` has them by kind: `false`, `doubled`, `untold`, `charged_twice`.

      look_ms: the longest duration of a poll, which is its lease: it may have several requests. An event's statement
        was true at some moment of its poll.
      stale_ms: the longest lag of a page or an API answer.
      carried_ms: the greatest age of a payment state that a status event repeats. An earlier poll of
        the charge determined the state, while this poll read only the source.
      by_time: false if the sandbox's clock was moved. Then only the order is checked: each channel's
        statements must follow each other as the truths did.
    """

    # The sandbox and Redis use the machine's clock, each rounded to a millisecond.
    ROUNDING_MS = 5

    def __init__(
        self, ledger: Ledger, look_ms: float = 3000, stale_ms: float = 20_000, carried_ms: float = 5000,
        by_time: bool = True,
    ):
        self.violations: list[str] = []
        # The payments with violations, in the order of the first violation.
        self.accused: dict[str, None] = {}
        self.counts: Counter = Counter()
        self._ledger = ledger
        self._look_ms = look_ms
        self._stale_ms = stale_ms
        self._carried_ms = carried_ms
        self._by_time = by_time
        # The delivered statements by channel, endpoint and payment, in the order of arrival.
        self._pushed: dict[tuple[str, str, str], list[Statement]] = {}

    def note(self, payment: str, text: str, kind: str) -> None:
        """Records a violation."""
        self.violations.append(f"{payment}: {text}")
        self.accused[payment] = None
        self.counts[kind] += 1

    def hear(self, statements, doubles: bool = False) -> None:
        """Checks statements in the order of their arrival.

          doubles: the same event may arrive again, as after a crash in mid-attempt.
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
                self.note(payment, f"{statement} of a payment that never was", "false")
            elif self._by_time:
                if not any(statement.fits(span) for span in self._around(statement, spans)):
                    self.note(payment, f"{statement}; true was {self._truths(statement, spans)}", "false")
            else:
                found = next((n for n in range(place, len(spans)) if statement.fits(spans[n])), None)
                if found is None:
                    rest = [sorted(truth.word for truth in span.truths) for span in spans[place:]]
                    self.note(payment, f"{statement}; what followed was {rest}", "false")
                place = place if found is None else found

    def _around(self, statement: Statement, spans: list[Span]) -> list[Span]:
        if statement.seen_ms is None:
            begin, end = statement.told_ms - self._stale_ms, statement.told_ms
        else:
            # The statement was made after the poll began and before it arrived.
            begin = statement.seen_ms
            end = max(begin, min(begin + self._look_ms, statement.told_ms))
            if statement.is_carried:
                begin -= self._carried_ms
        return [span for span in spans if span.meets(begin - self.ROUNDING_MS, end + self.ROUNDING_MS)]

    def _truths(self, statement: Statement, spans: list[Span]) -> list[str]:
        return [str(truth) for span in self._around(statement, spans) for truth in span.truths]

    def _check_once(self, statement: Statement, before: list[Statement], doubles: bool) -> None:
        if any(other.event == statement.event for other in before):
            if not doubles:
                self.note(statement.payment, f"{statement} again", "doubled")
            return
        last = before[-1] if before else None
        same = last and (last.claims, last.received, last.returned) == (
            statement.claims, statement.received, statement.returned,
        )
        # Status and next-step events repeat the payment state; only mails must not.
        if same and statement.claims and statement.channel == "mail" and not self._came_back(last, statement):
            self.note(statement.payment, f"{statement}, which it had said", "doubled")

    def _came_back(self, before: Statement, statement: Statement) -> bool:
        """Returns whether a state may be mailed again because it was untrue for a while.

        No mail need exist for that time.
        """
        return self._by_time and any(
            before.seen_ms < span.begin_ms <= statement.seen_ms and not statement.fits(span)
            for span in self._ledger.spans(statement.payment)
        )

    def told_once(self, events: dict[str, list[dict]]) -> None:
        """Checks that recorded events report each change of the payment in exactly one `payment.*` event."""
        for payment, row in events.items():
            told = None
            for event in row:
                said = event.get("payment")
                if not said:
                    continue
                word, is_news = said["state"], event["type"].startswith("payment.")
                if is_news and event["type"] != f"payment.{word}":
                    self.note(payment, f"{event['id']} is {event['type']} and says {word}", "false")
                if is_news and said == told:
                    self.note(payment, f"{event['id']} tells {word} again", "doubled")
                if not is_news and told is not None and word != told["state"]:
                    self.note(payment, f"{event['id']} says {word}, which no event had told", "untold")
                told = said

    def ended(self, channels: list[str], among: set[str] | None = None) -> None:
        """Checks that each channel received the last state of each payment."""
        rows: dict[tuple[str, str], list[list[Statement]]] = {}
        for (channel, _, payment), row in self._pushed.items():
            rows.setdefault((channel, payment), []).append(row)
        for payment in sorted(self._ledger.payments if among is None else among):
            last = self._ledger.last(payment)
            for channel in channels:
                for row in rows.get((channel, payment)) or [[]]:
                    said = row[-1] if row else None
                    if not said or not any(truth.word in said.claims for truth in last):
                        words = " or ".join(sorted(truth.word for truth in last))
                        text = f"{channel} ended with {said or 'nothing'}; the last truth is {words}"
                        self.note(payment, text, "untold")

    def charged_once(self) -> None:
        """Checks that no order was charged twice."""
        for order, charges in self._ledger.money_by_order().items():
            if len(charges) > 1:
                self.note(order, f"charged {len(charges)} times: {charges}", "charged_twice")

    def verdict(self) -> None:
        """Fails with the number of violations and the text of the first twenty."""
        shown = "\n".join(self.violations[:20])
        assert not self.violations, f"{len(self.violations)} violations\n{shown}"
