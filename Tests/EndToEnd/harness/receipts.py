"""What a channel has received, in the order of arrival."""

import threading
import time
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Receipt:
    """One event as one channel brought it."""

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
        """Reads an event as `GET /v1/events` shows it."""
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
    """A list that the threads of a sink add to and a test reads."""

    def __init__(self, listener=None):
        self._lock = threading.Lock()
        self._all: list[Receipt] = []
        self._problems: list[str] = []
        self._listener = listener

    def add(self, receipt: Receipt) -> None:
        # First, so that whoever waits for a receipt finds it told.
        if self._listener:
            self._listener(receipt)
        with self._lock:
            self._all.append(receipt)

    def problem(self, text: str) -> None:
        """Notes something that must never happen, such as a bad signature."""
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
        """What concerns these sources, and every problem."""
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
    """Without bodies and headers: a long run of chaos has a million of them."""

    def add(self, receipt: Receipt) -> None:
        super().add(replace(receipt, body=None, headers={}))
