"""The truth about the money: Stripe's own record as a sequence of payment states for each payment.

Independent of the system under test: it knows Stripe's objects and the thirteen payment states
(`Sources/PollerPayments/Payment.swift`), and derives from Stripe's documentation what makes each state true. Only
money makes a payment `paid`: a charge that succeeded and was captured. The status of a source never does.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import inf


@dataclass(frozen=True)
class Entry:
    """A fact that became true at Stripe.

      payment: the source or intent that the fact is about.
      kind: `object`, `charge`, `dispute`, `refund` or `transfer` (a payment into a receiver source).
      facts: the members that were true from then on; for an object, the changed ones suffice.
      at_ms: the earliest time at which it became true.
      within_ms: the uncertainty of that time, because Stripe's events have whole seconds.
    """

    payment: str
    kind: str
    facts: dict
    at_ms: float
    within_ms: float = 0

    @property
    def latest_ms(self) -> float:
        return self.at_ms + self.within_ms


@dataclass(frozen=True)
class Truth:
    """A payment state and its sums: `received` is gross, `returned` is the part that went back.

    Without sums no money was taken yet. Money that waits in a receiver source until then is not judged.
    """

    word: str
    received: int | None = None
    returned: int = 0


@dataclass(frozen=True)
class Span:
    """A period and the states that were true of a payment in it; with several charges, the state of each counts."""

    begin_ms: float
    end_ms: float
    truths: frozenset[Truth]

    def meets(self, begin_ms: float, end_ms: float) -> bool:
        return self.begin_ms <= end_ms and begin_ms <= self.end_ms


@dataclass(frozen=True)
class Holding:
    """All facts about one payment at one moment."""

    object: dict = field(default_factory=dict)
    charges: dict[str, dict] = field(default_factory=dict)
    disputes: dict[str, dict] = field(default_factory=dict)
    refunds: dict[str, dict] = field(default_factory=dict)
    transferred: int = 0
    # The highest amount that each charge had captured. If the charge fails later, the money was taken back.
    taken: dict[str, int] = field(default_factory=dict)
    # Whether the source was ever attached to a customer; detaching it consumes it.
    was_kept: bool = False

    def after(self, entry: Entry) -> "Holding":
        facts = entry.facts
        match entry.kind:
            case "object":
                was_kept = self.was_kept or bool(facts.get("customer"))
                return replace(self, object=self.object | facts, was_kept=was_kept)
            case "charge":
                charges = self.charges | {facts["id"]: self.charges.get(facts["id"], {}) | facts}
                taken = max(self.taken.get(facts["id"], 0), captured(charges[facts["id"]]))
                return replace(self, charges=charges, taken=self.taken | {facts["id"]: taken})
            case "dispute":
                return replace(self, disputes=self.disputes | {facts["id"]: facts})
            case "refund":
                return self._after_refund(facts)
            case "transfer":
                return replace(self, transferred=self.transferred + facts["amount"])
        raise ValueError(f"no such kind of entry: {entry.kind}")

    def _after_refund(self, refund: dict) -> "Holding":
        """Returns the money of a failed refund to its charge, because Stripe then sends no event about the charge."""
        refunds = self.refunds | {refund["id"]: refund}
        kept = came_back(refund) - came_back(self.refunds.get(refund["id"], {}))
        charge = self.charges.get(refund["charge"])
        if not kept or not charge:
            return replace(self, refunds=refunds)
        charge = charge | {"amount_refunded": charge.get("amount_refunded", 0) - kept, "refunded": False}
        return replace(self, refunds=refunds, charges=self.charges | {charge["id"]: charge})

    def truths(self) -> frozenset[Truth]:
        """Returns the payment states that may be reported at this moment."""
        charges = list(self.charges.values())
        if self.is_intent:
            # Only the newest attempt of an intent counts.
            charges = charges[-1:]
        found = {self._of_charge(charge) for charge in charges} - {None}
        # If another attempt did not fail, failed attempts do not change the payment.
        if any(truth.word != "failed" for truth in found):
            found = {truth for truth in found if truth.word != "failed"}
        # A reusable source is ready for its next order, regardless of the last one.
        if found and (self.object.get("usage"), self.object.get("status")) == ("reusable", "chargeable"):
            found |= {self._of_object()}
        return frozenset(found or {self._of_object()})

    @property
    def is_intent(self) -> bool:
        return self.object.get("object") in ("payment_intent", "setup_intent")

    def _of_charge(self, charge: dict) -> Truth | None:
        status, taken = charge["status"], self.taken[charge["id"]]
        if taken:
            # Stripe counts a refund in the charge from its creation, but no money has gone back before the refund
            # succeeds. Since 2025-03-31.basil, the authorised amount that was not captured does not count as a
            # refund.
            refunded = max(0, charge.get("amount_refunded", 0) - self._open_refunds(charge["id"]))
            return Truth(*self._of_money(charge, status, taken, min(refunded, taken)))
        if status == "succeeded":
            if charge.get("expired") or charge.get("refunded") or charge.get("amount_refunded"):
                return None if self.is_intent else Truth("expired" if charge.get("expired") else "cancelled")
            return None if self.object.get("status") == "canceled" else Truth("authorised")
        if status == "pending":
            return Truth("processing")
        is_tried_again = self.is_intent and self.object.get("status") != "requires_payment_method"
        return None if is_tried_again else Truth("failed")

    def _open_refunds(self, charge: str) -> int:
        """Returns the sum of a charge's refunds that are pending or wait for the customer."""
        of_charge = [refund for refund in self.refunds.values() if refund["charge"] == charge]
        return sum(refund["amount"] for refund in of_charge if refund.get("status") in ("pending", "requires_action"))

    def _of_money(self, charge: dict, status: str, taken: int, refunded: int) -> tuple[str, int, int]:
        disputes = [dispute for dispute in self.disputes.values() if dispute["charge"] == charge["id"]]
        lost = sum(dispute.get("amount", taken) for dispute in disputes if dispute["status"] == "lost")
        gone = min(taken, refunded + lost)
        if status == "failed":
            return "reversed", taken, taken
        # The sum of a dispute over everything differs with the exchange rate.
        if lost and (taken - gone) * 10 <= taken - refunded:
            return "reversed", taken, gone
        if any(dispute["status"] in ("needs_response", "under_review") for dispute in disputes):
            return "disputed", taken, refunded
        if lost:
            return "partially_refunded", taken, gone
        if charge.get("captured") is False:
            return "partially_paid", taken, refunded
        if refunded == taken:
            return "refunded", taken, refunded
        return "partially_refunded" if refunded else "paid", taken, refunded

    def _of_object(self) -> Truth:
        status, amount = self.object.get("status"), self.object.get("amount")
        came = self.transferred
        part = came > 0 and amount is not None and came < amount
        match status:
            case "pending":
                if part:
                    return Truth("partially_paid", came)
                return Truth("processing" if came else "awaiting_customer")
            case "chargeable":
                return Truth("partially_paid", came) if part else Truth("authorised")
            case "consumed":
                # A consumed source without an observed charge: if it was attached to a customer, detaching may have
                # consumed it.
                is_detached = self.was_kept and self.object.get("usage") == "reusable"
                return Truth("unknown" if is_detached else "processing")
            case "failed":
                return Truth("failed")
            case "canceled":
                return Truth(self._of_cancellation())
            case "requires_payment_method" | "requires_source":
                failed = self.object.get("last_payment_error") or self.object.get("last_setup_error")
                return Truth("failed" if failed else "awaiting_customer")
            case "requires_confirmation" | "requires_action" | "requires_source_action":
                return Truth("partially_paid", came) if part else Truth("awaiting_customer")
            case "processing":
                return Truth("processing")
            case "requires_capture":
                return Truth("authorised")
            case "succeeded":
                return Truth("authorised" if self.object.get("object") == "setup_intent" else "unknown")
        return Truth("unknown")

    def _of_cancellation(self) -> str:
        if not self.is_intent:
            return "expired"
        by_itself = self.object.get("cancellation_reason") in ("automatic", "expired", "abandoned")
        return "expired" if by_itself else "cancelled"


def captured(charge: dict) -> int:
    """Returns the amount that a charge has captured."""
    if charge["status"] != "succeeded":
        return 0
    whole = charge.get("amount", 0) if charge.get("captured", True) else 0
    return charge.get("amount_captured", whole)


def came_back(refund: dict) -> int:
    """Returns the amount of a refund that failed or was cancelled, otherwise 0."""
    return refund["amount"] if refund.get("status") in ("failed", "canceled") else 0


class Ledger:
    """The periods and charges of every payment."""

    def __init__(self, entries: Iterable[Entry]):
        self._rows: dict[str, list[Entry]] = {}
        for entry in entries:
            self._rows.setdefault(entry.payment, []).append(entry)
        self._spans = {payment: self._walk(rows) for payment, rows in self._rows.items()}
        self._ends = {payment: self._end(rows) for payment, rows in self._rows.items()}

    @staticmethod
    def _walk(rows: list[Entry]) -> list[Span]:
        # Sorted by the latest possible time, because an event that is precise to a second must not end a period
        # early.
        rows.sort(key=lambda entry: entry.latest_ms)
        spans, holding = [], Holding()
        for entry, following in zip(rows, [*rows[1:], None]):
            holding = holding.after(entry)
            end_ms = following.latest_ms if following else inf
            spans.append(Span(entry.at_ms, end_ms, holding.truths()))
        return spans

    @staticmethod
    def _end(rows: list[Entry]) -> Holding:
        holding = Holding()
        for entry in rows:
            holding = holding.after(entry)
        return holding

    @property
    def payments(self) -> set[str]:
        return set(self._spans)

    def spans(self, payment: str) -> list[Span]:
        """Returns the periods of a payment, oldest first; empty if Stripe never had it."""
        return self._spans.get(payment, [])

    def last(self, payment: str) -> frozenset[Truth]:
        """Returns the states that are true of a payment at the end."""
        return self._spans[payment][-1].truths

    def money_by_order(self, order_of=None) -> dict[str, list[str]]:
        """Returns the charges of each order whose money is wholly or partly still with the shop.

          order_of: returns the order of a payment and a charge. By default this is `order` in the
            charge's metadata, or else the payment.
        """
        order_of = order_of or (lambda payment, charge: charge.get("metadata", {}).get("order", payment))
        found: dict[str, list[str]] = {}
        for payment, holding in self._ends.items():
            for charge in holding.charges.values():
                if captured(charge) > charge.get("amount_refunded", 0):
                    found.setdefault(order_of(payment, charge), []).append(charge["id"])
        return found


# The kind of entry for each type of object in an event.
KINDS = {
    "charge": "charge", "dispute": "dispute", "refund": "refund", "source": "object", "payment_intent": "object",
    "setup_intent": "object", "source_transaction": "transfer",
}
SECOND_MS = 1000


def entries(events: list[dict], changes: list[dict], objects: list[dict]) -> list[Entry]:
    """Converts Stripe's own record to entries.

      events: the changes of charges, disputes, refunds and objects, oldest first. They are either
        the sandbox's events, precise to the millisecond, or `GET /v1/events`, precise to the second.
      changes: the sandbox's history, with each status of an object to the millisecond.
      objects: each object as it is now, for the members that never change.
    """
    lasting = ("object", "type", "usage", "amount", "flow")
    fixed = {it["id"]: {name: it[name] for name in lasting if name in it} for it in objects}
    found = [
        Entry(change["source"], "object", fixed.get(change["source"], {}) | {"status": change["status"]}, change["at_ms"])
        for change in changes
    ]
    payers: dict[str, str] = {}
    for event in events:
        is_exact = "at_ms" in event
        facts = event["object"] if is_exact else event["data"]["object"]
        kind = KINDS.get(facts["object"])
        if not kind or event["type"].startswith("customer."):
            continue
        match kind:
            case "charge":
                source = facts.get("source")
                source = source["id"] if isinstance(source, dict) else source
                payer = payers[facts["id"]] = facts.get("payment_intent") or source
                if event["type"] == "charge.expired":
                    facts = facts | {"expired": True}
            case "dispute" | "refund":
                payer = payers.get(facts["charge"])
            case "transfer":
                payer = facts["source"] if event["type"].endswith(".created") else None
            case _:
                payer = facts["id"]
                # The history has a more precise time for the status.
                facts = {name: value for name, value in facts.items() if name != "status"}
        if payer:
            at_ms, within_ms = (event["at_ms"], 0) if is_exact else (event["created"] * 1000, SECOND_MS)
            found.append(Entry(payer, kind, facts, at_ms, within_ms))
    return found


def read(sandbox, among: set[str] | None = None) -> Ledger:
    """Reads the current ledger of a sandbox, for the payments in `among` or for all."""
    events, since = [], 0
    while True:
        page = sandbox._call("GET", f"/_sandbox/events?since={since}")
        events += page["data"]
        if not page["has_more"]:
            break
        since = page["next"]
    happened = sandbox.history()
    families = {"src": "sources", "pi": "payment_intents", "seti": "setup_intents"}
    ids = [it for it in happened if it.split("_")[0] in families and (among is None or it in among)]
    objects = [sandbox._stripe("GET", f"/v1/{families[it.split('_')[0]]}/{it}") for it in ids]
    found = entries(events, [change for it in ids for change in happened[it]], objects)
    return Ledger(entry for entry in found if among is None or entry.payment in among)
