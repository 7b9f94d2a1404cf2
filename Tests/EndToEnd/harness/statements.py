"""Statements about a payment, as claims that can be compared with a ledger."""

import re
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from html import unescape

from .headlines import claims_of, denies, sums_in
from .ledger import Span, Truth

# The payment states that a page's state claims. An empty set states nothing about the money and is always true.
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
}


@dataclass(frozen=True)
class Statement:
    """A statement that was shown or delivered about a payment.

      claims: the statement claims that one of these payment states is true. An empty set states
        nothing about the money.
      told_ms: the time at which it was read.
      seen_ms: for a delivered statement, the start of the poll it is based on. It must have been true
        then, even if it arrives late. A statement that is shown on request, such as a page, must be
        true when it is shown, within a bound of staleness.
      event: for a delivered statement, the ID of its event; a payment state is delivered once.
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
    # Further statements in texts for people: the amounts they name, for a payment of `amount`, and whether they say
    # that nothing was charged.
    sums: frozenset[int] = frozenset()
    amount: int | None = None
    denies: bool = False
    # Whether a status or next-step event repeats the last payment state.
    is_carried: bool = False

    def fits(self, span: Span) -> bool:
        return any(truth.word in self.claims and self._is_exact(truth) for truth in span.truths)

    def _is_exact(self, truth: Truth) -> bool:
        received = truth.received or 0
        amount = self.amount or 0
        if self.denies and received:
            return False
        if not self.sums <= {amount, received, truth.returned, amount - received}:
            return False
        if truth.received is None:
            return True
        return self.received in (None, received) and self.returned in (None, truth.returned)

    def __str__(self) -> str:
        sums = "" if self.received is None else f" with {self.received} received, {self.returned or 0} returned"
        name = f" ({self.event})" if self.event else ""
        return f"{self.channel} said {' or '.join(sorted(self.claims))}{sums}{name}"


def of_event(event: dict, told_ms: float, channel: str = "webhook", endpoint: str = "") -> Statement | None:
    """Returns an event's statement about its payment, or `None` if it has none."""
    payment = event.get("payment")
    if not payment:
        return None
    return Statement(
        channel, event["source"], frozenset({payment["state"]}), told_ms, seen_ms(event), event["id"], endpoint,
        payment.get("amount_received", 0), payment.get("amount_returned", 0), is_carried=_is_carried(event),
    )


def of_watch(watch: dict, told_ms: float) -> Statement | None:
    """Returns the statement of `GET /v1/watches/{source}` about its payment, or `None`."""
    payment = watch.get("payment")
    if not payment:
        return None
    sums = payment.get("amount_received", 0), payment.get("amount_returned", 0)
    return Statement(
        "api", watch["source"], frozenset({payment["state"]}), told_ms, received=sums[0], returned=sums[1]
    )


def _refund(payment: dict) -> set[int]:
    """Returns the amount of an unfinished refund, which texts name but which is not part of the payment's sums."""
    return {payment["refund"]["amount"]} if payment.get("refund") else set()


def of_page(payment: str, shown: dict, language: str, told_ms: float, event: dict | None = None) -> Statement:
    """Returns the combined statement of `GET /r/{source}/state`: its state, texts and payment.

      event: the recorded event that the page shows, by its `seq`.
    """
    said = shown.get("payment") or {}
    claims = _agreed(
        _claims(shown["state"], payment), claims_of(shown["title"], language), {said["state"]} if said else set()
    )
    words = shown["title"] + "\n" + shown["text"]
    return Statement(
        "page", payment, claims, told_ms, event and seen_ms(event), event["id"] if event else None,
        received=said.get("amount_received"), returned=said.get("amount_returned", 0) if said else None,
        sums=sums_in(words) - _refund(said), amount=said.get("amount"), denies=denies(words, language),
        is_carried=_is_carried(event),
    )


def of_html(payment: str, html: str, language: str, told_ms: float, event: dict | None = None) -> Statement:
    """Returns the statement of the page's HTML before any script runs; `event` is as for `of_page`."""
    state = re.search(r'<body[^>]* data-state="(\w+)"', html)[1]
    title, text = (unescape(re.search(rf' id="{part}">(.*?)<', html)[1]) for part in ("title", "text"))
    claims = _agreed(_claims(state, payment), claims_of(title, language))
    return Statement(
        "page", payment, claims, told_ms, event and seen_ms(event), event and event["id"], denies=denies(text, language),
        is_carried=_is_carried(event),
    )


def of_mail(mail: EmailMessage, event: dict, language: str, told_ms: float) -> Statement:
    """Returns the combined statement of a mail's subject and its plain and HTML bodies, and of its event."""
    plain, html = (mail.get_body((kind,)).get_content() for kind in ("plain", "html"))
    title, shown = next(line for line in plain.splitlines() if line), unescape(re.sub(r"<[^>]*>", "", html))
    payment = event["payment"]
    claims = _agreed(claims_of(title, language), {payment["state"]})
    if title not in mail["Subject"] or title not in shown:
        claims = NEVER
    return Statement(
        "mail", event["source"], claims, told_ms, seen_ms(event), event["id"],
        received=payment.get("amount_received", 0), returned=payment.get("amount_returned", 0),
        sums=(sums_in(plain) | sums_in(mail["Subject"]) | sums_in(shown)) - _refund(payment), amount=payment.get("amount"),
        denies=denies(plain, language), is_carried=_is_carried(event),
    )


def _claims(state: str, payment: str) -> set[str]:
    """Returns the claims of a page's state; a confirmed SetupIntent means that its payer agreed."""
    return {"authorised"} if (state, payment[:5]) == ("confirmed", "seti_") else CLAIMS[state]


# The claim of a statement that contradicts itself.
NEVER = frozenset({"what contradicts itself"})


def _agreed(*claims) -> frozenset[str]:
    """Returns the intersection of several claims, ignoring empty ones."""
    said = [frozenset(words) for words in claims if words]
    return (frozenset.intersection(*said) or NEVER) if said else frozenset()


def _is_carried(event: dict | None) -> bool:
    return event is not None and not event["type"].startswith("payment.")


def seen_ms(event: dict) -> float:
    """Returns the start, in ms, of the poll that an event is based on."""
    return datetime.fromisoformat(event["observed"]["polled_at"]).timestamp() * 1000
