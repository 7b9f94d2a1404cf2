"""Random status changes of many sources at the sandbox, each followed by a final status."""

import heapq
import random
import socket
import threading
import time
from urllib.parse import urlsplit

# Requests written before the first response is read. The responses of one round fit in a socket's buffer.
ROUND = 64
# Statuses of an unfinished payment that a customer or a bank causes. None of them closes a watch.
OPEN = {
    "src": ("pending", "chargeable"),
    "pi": ("requires_action", "processing", "requires_payment_method"),
}
FINAL = {"src": ("consumed", "failed", "canceled"), "pi": ("succeeded", "canceled")}
FAMILY = {"src": "sources", "pi": "payment_intents"}


class Wire:
    """Sends control requests to the sandbox in pipelined batches, because single requests would be the bottleneck."""

    def __init__(self, url: str):
        parts = urlsplit(url)
        self._host = parts.netloc
        self._socket = socket.create_connection((parts.hostname, parts.port), timeout=30)
        self._file = self._socket.makefile("rb")

    def post(self, calls: list[tuple[str, str]]) -> list[bytes]:
        """Posts (path, JSON) pairs in order and returns the response bodies.

        Fails unless each status is 2xx.
        """
        answers = []
        for start in range(0, len(calls), ROUND):
            part = calls[start : start + ROUND]
            text = "".join(
                f"POST {path} HTTP/1.1\r\nhost: {self._host}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\n\r\n{body}"
                for path, body in part
            )
            self._socket.sendall(text.encode())
            answers += [self._read() for _ in part]
        return answers

    def _read(self) -> bytes:
        status = self._file.readline()
        length = 0
        while (line := self._file.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = self._file.read(length)
        assert b" 20" in status, f"the sandbox answered {status!r} {body[:300]!r}"
        return body

    def close(self) -> None:
        self._file.close()
        self._socket.close()


class Bank:
    """Changes the status of each source soon after its last change was recorded.

    `recorded` reports a recorded change. Without it, the status changes after some seconds anyway, so no poll
    observes some statuses. Occasionally a source keeps its status for longer. A source that was recorded
    `changes_max` times gets a final status.
    """

    # The range of waits in seconds: after a recorded change, and without one.
    SOON = (0.02, 0.7)
    ANYWAY = (1.5, 4.0)
    CALM = (30.0, 45.0)
    CALM_SHARE = 0.004

    def __init__(self, url: str, seed: int, changes_max: int):
        self.changes = 0
        self.settled = 0
        self._chance = random.Random(seed)
        self._changes_max = changes_max
        self._wire = Wire(url)
        self._lock = threading.Lock()
        self._heap: list[tuple[float, str]] = []
        self._next: dict[str, float] = {}
        self._status: dict[str, str] = {}
        self._seen: dict[str, int] = {}
        self._closing = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def take(self, sources: list[str]) -> None:
        """Starts to change the given sources."""
        with self._lock:
            for source in sources:
                self._status[source] = OPEN[source.split("_")[0]][0]
                self._seen[source] = 0
                self._plan(source, self._chance.uniform(*self.ANYWAY))

    def recorded(self, source: str) -> None:
        with self._lock:
            if source in self._next:
                self._seen[source] += 1
                is_calm = self._chance.random() < self.CALM_SHARE
                self._plan(source, self._chance.uniform(*(self.CALM if is_calm else self.SOON)))

    def _plan(self, source: str, wait_s: float) -> None:
        self._next[source] = moment = time.monotonic() + wait_s
        heapq.heappush(self._heap, (moment, source))

    def _run(self) -> None:
        try:
            while not self._closing.wait(0.01):
                self._post(self._due())
        except BaseException as error:
            self._error = error

    def _due(self) -> list[tuple[str, str]]:
        """Returns the changes that are due, as (source, status)."""
        found = []
        with self._lock:
            now = time.monotonic()
            while self._heap and self._heap[0][0] <= now:
                moment, source = heapq.heappop(self._heap)
                # A newer plan for this source has replaced this one.
                if self._next.get(source) != moment:
                    continue
                kind = source.split("_")[0]
                if self._seen[source] >= self._changes_max:
                    found.append((source, self._chance.choice(FINAL[kind])))
                    del self._next[source]
                    continue
                others = [status for status in OPEN[kind] if status != self._status[source]]
                self._status[source] = self._chance.choice(others)
                found.append((source, self._status[source]))
                self._plan(source, self._chance.uniform(*self.ANYWAY))
        return found

    def _post(self, changes: list[tuple[str, str]]) -> None:
        if not changes:
            return
        self._wire.post(
            [
                (f"/_sandbox/{FAMILY[s.split('_')[0]]}/{s}/status", f'{{"status":"{status}"}}')
                for s, status in changes
            ]
        )
        self.changes += len(changes)
        self.settled += sum(status in FINAL[s.split("_")[0]] for s, status in changes)

    def settle(self) -> None:
        """Stops the changes and gives every open source a final status."""
        self._closing.set()
        self._thread.join(60)
        if self._error:
            raise self._error
        with self._lock:
            rest, self._next = list(self._next), {}
        self._post([(s, self._chance.choice(FINAL[s.split("_")[0]])) for s in rest])
        self._wire.close()
