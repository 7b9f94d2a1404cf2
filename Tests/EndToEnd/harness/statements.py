"""What is said of a payment somewhere, as claims that can be held against a ledger."""

import re
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from html import unescape

from .headlines import claims_of, denies, sums_in
from .ledger import Span, Truth

# What the state of a page claims. An empty claim says nothing of the money, and so is always true.
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
    # What words for people say besides: the sums they name, of a payment of `amount`, and that nothing
    # was taken.
    sums: frozenset[int] = frozenset()
    amount: int | None = None
    denies: bool = False
    # An event of the status or of the next step has the word that was told last.
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
    """What an event says of its payment; nil when it says nothing."""
    payment = event.get("payment")
    if not payment:
        return None
    return Statement(
        channel, event["source"], frozenset({payment["state"]}), told_ms, seen_ms(event), event["id"], endpoint,
        payment.get("amount_received", 0), payment.get("amount_returned", 0), is_carried=_is_carried(event),
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


def _refund(payment: dict) -> set[int]:
    """The sum of a refund that has not succeeded: it is named, and is no part of what was received or returned."""
    return {payment["refund"]["amount"]} if payment.get("refund") else set()


def of_page(payment: str, shown: dict, language: str, told_ms: float, event: dict | None = None) -> Statement:
    """What `GET /r/{source}/state` says: its state, its words and its payment together.

    event: the recorded event the page has come to, by its `seq`.
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
    """What the page itself says, before any script has run; `event` as for `of_page`."""
    state = re.search(r'<body[^>]* data-state="(\w+)"', html)[1]
    title, text = (unescape(re.search(rf' id="{part}">(.*?)<', html)[1]) for part in ("title", "text"))
    claims = _agreed(_claims(state, payment), claims_of(title, language))
    return Statement(
        "page", payment, claims, told_ms, event and seen_ms(event), event and event["id"], denies=denies(text, language),
        is_carried=_is_carried(event),
    )


def of_mail(mail: EmailMessage, event: dict, language: str, told_ms: float) -> Statement:
    """What a mail says in its subject and its body, plain and HTML alike, and the event that it is about."""
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
    """What a page claims by its state: what confirms a SetupIntent is that its payer agreed."""
    return {"authorised"} if (state, payment[:5]) == ("confirmed", "seti_") else CLAIMS[state]


# Claimed by what contradicts itself.
NEVER = frozenset({"what contradicts itself"})


def _agreed(*claims) -> frozenset[str]:
    """What several words say together: those that say nothing do not count."""
    said = [frozenset(words) for words in claims if words]
    return (frozenset.intersection(*said) or NEVER) if said else frozenset()


def _is_carried(event: dict | None) -> bool:
    return event is not None and not event["type"].startswith("payment.")


def seen_ms(event: dict) -> float:
    """When the look began that an event rests on."""
    return datetime.fromisoformat(event["observed"]["polled_at"]).timestamp() * 1000
