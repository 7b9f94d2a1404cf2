"""Follows the outboxes and keeps what is recorded, as it is recorded."""

import sys
import threading
import time
from collections.abc import Callable

import redis
from harness.packed_event import outbox_events

PAGE = 2000
PAUSE_S = 0.05
# How often it looks for partitions that have begun to record.
DISCOVER_S = 1.0


class Recorder:
    """Every event of every partition, oldest first, without the upstream's object.

    Reads the streams as any consumer may. It must not fall behind by more than the outbox's
    retention; what it missed would look lost.
    """

    def __init__(
        self,
        client: Callable[[], redis.Redis],
        partitions: int,
        recorded: Callable[[dict], None],
        namespace: str = "poller",
    ):
        self.events: dict[str, list[dict]] = {}
        self.closed: set[str] = set()
        self.incidents: list[dict] = []
        self.count = 0
        self._make = client
        self._streams = {f"{namespace}:e{{{p}}}": None for p in range(partitions)}
        self._recorded = recorded
        self._closing = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._follow()
        except BaseException as error:
            self._error = error

    def check(self) -> None:
        """Fails once it can follow no more, since all that comes later would look lost."""
        if self._error:
            raise self._error

    def _follow(self) -> None:
        client, discovered = None, 0.0
        while not self._closing.is_set():
            try:
                client = client or self._make()
                if time.monotonic() - discovered > DISCOVER_S:
                    for stream in [s for s, at in self._streams.items() if at is None]:
                        if client.exists(stream):
                            self._streams[stream] = "-"
                    discovered = time.monotonic()
                more = [self._read(client, s) for s, at in self._streams.items() if at]
                if not any(more):
                    self._closing.wait(PAUSE_S)
            except (redis.RedisError, OSError):
                # The chaos is about Redis too: ask again, of whoever serves it then.
                client = None
                self._closing.wait(0.2)

    def _read(self, client: redis.Redis, stream: str) -> bool:
        """Whether there may be more."""
        start = self._streams[stream]
        entries = client.xrange(stream, min=start if start == "-" else f"({start}", count=PAGE)
        for (entry, _), told in zip(entries, outbox_events(client, stream, entries)):
            if not told:
                # A failover may have come in between, to a server that knows of neither.
                known = client.xrange(stream, min=entry, max=entry)
                assert not known, f"{entry} of {stream} is in no log any more: the recorder has fallen behind"
                return True
            self._take(told, int(entry.split("-")[0]))
            self._streams[stream] = entry
        return len(entries) == PAGE

    def _take(self, event: dict, at_ms: int) -> None:
        # Of the cluster itself, which is late under such a load and says so.
        if event["type"].startswith("operator."):
            self.incidents.append(event)
            return
        kept = {
            name: sys.intern(value) if isinstance(value := event[name], str) else value
            for name in ("type", "previous_status", "status", "final", "closed_reason", "seq", "payment")
        }
        kept |= {"id": event["id"], "observed": event["observed"], "at_ms": at_ms}
        self.events.setdefault(event["source"], []).append(kept)
        self.count += 1
        if event["closed_reason"]:
            self.closed.add(event["source"])
        self._recorded(event)

    def close(self) -> None:
        self._closing.set()
        self._thread.join(20)
