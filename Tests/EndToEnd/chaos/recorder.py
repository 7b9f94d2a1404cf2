"""Tails the outboxes and keeps the recorded events."""

import sys
import threading
import time
from collections.abc import Callable, Iterator

import redis
from harness.packed_event import outbox_events, server_of

PAGE = 2000
PAUSE_S = 0.05
# The interval at which new streams of partitions are discovered, in seconds.
DISCOVER_S = 1.0
KEPT_WITHIN_MS = 500

# An entry of a stream: its ID and its fields.
Entry = tuple[str, dict[str, str]]


class Recorder:
    """Collects every event of every partition, oldest first, without the upstream's object.

    It reads the streams as any consumer does. It must not fall behind by more than the outbox's retention, because
    missed events would look lost.

    replicas: the number of replicas that must have an entry before it is accepted. A partitioned master continues to
        record for a while, with IDs newer than the first IDs of the next master. A reader whose cursor is at those IDs
        would miss the next master's first entries.
    """

    def __init__(
        self,
        client: Callable[[], redis.Redis],
        partitions: int,
        recorded: Callable[[dict], None],
        namespace: str = "poller",
        replicas: int = 0,
    ):
        self.events: dict[str, list[dict]] = {}
        self.closed: set[str] = set()
        self.incidents: list[dict] = []
        self.count = 0
        self._make = client
        self._prefix = f"{namespace}:e"
        self._streams = {f"{self._prefix}{{{p}}}": None for p in range(partitions)}
        self._recorded = recorded
        self._replicas = replicas
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
        """Fails if the thread has stopped, because all later events would look lost."""
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
                more = [self._read(client, *page) for page in self._pages(client)]
                if not any(more):
                    self._closing.wait(PAUSE_S)
            except (redis.RedisError, OSError):
                # Faults affect Redis too. Connect again, possibly to another server.
                client = None
                self._closing.wait(0.2)

    def _pages(self, client: redis.Redis) -> Iterator[tuple[str, list[Entry]]]:
        """Yields each stream's next entries after its cursor."""
        begins = {s: at if at == "-" else f"({at}" for s, at in self._streams.items() if at}
        if not self._replicas:
            for stream, begin in begins.items():
                yield stream, client.xrange(stream, min=begin, count=PAGE)
            return
        servers: dict[int, list[str]] = {}
        for stream in begins:
            servers.setdefault(id(server_of(client, stream)), []).append(stream)
        for streams in servers.values():
            yield from zip(streams, self._kept(server_of(client, streams[0]), {s: begins[s] for s in streams}))

    def _kept(self, server: redis.Redis, begins: dict[str, str]) -> list[list[Entry]]:
        """Returns the next entries of one server's streams.

        Fails if too few replicas have them.
        """
        # One connection reaches one server. A replica that has the key written here also has all earlier writes.
        with server.pipeline(transaction=False) as pipe:
            for stream, begin in begins.items():
                pipe.xrange(stream, min=begin, count=PAGE)
            pipe.set(f"chaos:{next(iter(begins))[len(self._prefix):]}", "read", ex=600)
            pipe.wait(self._replicas, KEPT_WITHIN_MS)
            *pages, _, replicas = pipe.execute()
        if any(pages) and replicas < self._replicas:
            raise redis.ConnectionError(f"{replicas} of {self._replicas} replicas have what is recorded")
        return pages

    def _read(self, client: redis.Redis, stream: str, entries: list[Entry]) -> bool:
        """Stores the events of the entries.

        Returns whether there may be more entries.
        """
        for (entry, _), told in zip(entries, outbox_events(client, stream, entries)):
            if not told:
                # A failover in between may have led to a server that has neither the entry nor the event.
                known = client.xrange(stream, min=entry, max=entry)
                assert not known, f"{entry} of {stream} is in no log any more: the recorder has fallen behind"
                return True
            self._take(told, int(entry.split("-")[0]))
            self._streams[stream] = entry
        return len(entries) == PAGE

    def _take(self, event: dict, at_ms: int) -> None:
        # An incident of the cluster itself, such as late polls under this load.
        if event["type"].startswith("operator."):
            self.incidents.append(event)
            return
        kept = {
            name: sys.intern(value) if isinstance(value := event[name], str) else value
            for name in ("type", "previous_status", "status", "final", "closed_reason", "seq", "payment")
        }
        kept |= {"id": event["id"], "observed": event["observed"], "at_ms": at_ms}
        if "previous_amount_returned" in event:
            kept["previous_amount_returned"] = event["previous_amount_returned"]
        self.events.setdefault(event["source"], []).append(kept)
        self.count += 1
        if event["closed_reason"]:
            self.closed.add(event["source"])
        self._recorded(event)

    def close(self) -> None:
        self._closing.set()
        self._thread.join(20)
