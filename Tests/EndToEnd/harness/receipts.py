"""The events that a channel received, in the order of arrival."""

import threading
import time
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Receipt:
    """One event as a channel delivered it."""

    channel: str
    event: str
    source: str
    seq: int | None
    type: str | None
    status: str | None
    arrived_ms: float
    body: dict | None = None
    headers: dict = field(default_factory=dict)

    @staticmethod
    def of(channel: str, body: dict, headers: dict | None = None) -> "Receipt":
        """Reads an event in the format of `GET /v1/events`."""
        return Receipt(
            channel=channel,
            event=body["id"],
            source=body["source"],
            seq=body["seq"],
            type=body["type"],
            status=body["status"],
            arrived_ms=time.time() * 1000,
            body=body,
            headers=headers or {},
        )


class Receipts:
    """A list to which a sink's threads add and from which a test reads."""

    def __init__(self, listener=None):
        self._lock = threading.Lock()
        self._all: list[Receipt] = []
        self._problems: list[str] = []
        self._listener = listener

    def add(self, receipt: Receipt) -> None:
        # The listener runs first, so that it has seen each receipt that a test finds.
        if self._listener:
            self._listener(receipt)
        with self._lock:
            self._all.append(receipt)

    def problem(self, text: str) -> None:
        """Records an event that must never happen, such as an invalid signature."""
        with self._lock:
            self._problems.append(text)

    @property
    def problems(self) -> list[str]:
        with self._lock:
            return list(self._problems)

    def all(self) -> list[Receipt]:
        with self._lock:
            return list(self._all)

    def ids(self) -> set[str]:
        return {receipt.event for receipt in self.all()}

    def of(self, source: str) -> list[Receipt]:
        return [receipt for receipt in self.all() if receipt.source == source]

    def events(self, source: str) -> list[str]:
        return [receipt.event for receipt in self.of(source)]

    def among(self, sources: list[str]) -> "Receipts":
        """Returns the receipts of these sources, and every problem."""
        chosen = Receipts()
        wanted = set(sources)
        chosen._all = [receipt for receipt in self.all() if receipt.source in wanted]
        chosen._problems = self.problems
        return chosen

    def by_source(self) -> dict[str, list[Receipt]]:
        grouped: dict[str, list[Receipt]] = {}
        for receipt in self.all():
            grouped.setdefault(receipt.source, []).append(receipt)
        return grouped


class LeanReceipts(Receipts):
    """Receipts without bodies and headers, because a long chaos run has a million of them."""

    def add(self, receipt: Receipt) -> None:
        super().add(replace(receipt, body=None, headers={}))
