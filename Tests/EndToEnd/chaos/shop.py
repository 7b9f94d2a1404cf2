"""A shop that enqueues sources and repeats each request until it succeeds."""

import itertools
import threading
import time
from collections.abc import Callable

import requests

from harness.poller_api import PollerAPI

BATCH = 200


class Shop:
    """Enqueues sources in batches at any available API.

    `accepted` has the time at which each one was accepted.
    """

    def __init__(self, addresses: Callable[[], list[str]]):
        self.accepted: dict[str, float] = {}
        self.refusals = 0
        self._addresses = addresses
        self._turn = itertools.count()
        self._lock = threading.Lock()
        self._waiting: list[dict] = []
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def order(self, watches: list[dict]) -> None:
        with self._lock:
            self._waiting += watches

    @property
    def is_idle(self) -> bool:
        with self._lock:
            return not self._waiting

    def _run(self) -> None:
        while not self._closing.is_set():
            with self._lock:
                batch = self._waiting[:BATCH]
            if not batch:
                self._closing.wait(0.02)
                continue
            accepted = self._ask(batch)
            with self._lock:
                self._waiting = [w for w in self._waiting if w["source"] not in accepted]
            if len(accepted) < len(batch):
                self.refusals += 1
                self._closing.wait(0.2)

    def _ask(self, batch: list[dict]) -> set[str]:
        """Posts a batch and returns its accepted sources."""
        addresses = self._addresses()
        if not addresses:
            return set()
        api = PollerAPI(addresses[next(self._turn) % len(addresses)])
        try:
            answer = api.request("POST", "/v1/watches/batch", json=batch, timeout=8)
        except requests.RequestException:
            return set()
        finally:
            api.http.close()
        if not answer.ok:
            assert answer.status_code in (429, 500, 503, 504), answer.text
            return set()
        for watch in batch:
            self.accepted.setdefault(watch["source"], time.monotonic())
        # A batch is accepted completely or not at all.
        return {watch["source"] for watch in batch}

    def close(self) -> None:
        self._closing.set()
        self._thread.join(20)
