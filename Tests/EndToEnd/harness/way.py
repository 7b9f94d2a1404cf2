"""A network proxy that delays, stalls, cuts and partitions connections."""

import asyncio
import random
import threading
from collections.abc import Iterable
from pathlib import Path

from .process import Process

# The interval at which a stalled connection checks whether it may continue.
LOOK_S = 0.02


class Island:
    """Processes that are partitioned from all others; empty while the network is whole.

    A `Way` identifies the process at a connection's end by its port, using the system's table of sockets.
    """

    def __init__(self) -> None:
        self._members: list[Process] = []
        self._ports: set[int] = set()

    @staticmethod
    def can_be_made() -> bool:
        """Returns whether the system shows the owner of a port, as Linux does."""
        return Path("/proc/self/net/tcp").exists()

    def cut_off(self, members: Iterable[Process]) -> None:
        self._members = list(members)
        self.look()

    def join(self) -> None:
        self._members, self._ports = [], set()

    def look(self) -> None:
        """Refreshes the ports of the member processes."""
        if self._members:
            self._ports = set().union(*(ports(p.pid) for p in self._members if p.running))

    def is_between(self, port: int, target: Process | None) -> bool:
        """Returns whether the partition separates this port's owner from the process behind the proxy."""
        return bool(self._members) and (port in self._ports) != (target in self._members)


def ports(pid: int) -> set[int]:
    """Returns the local TCP ports of a process."""
    try:
        links = {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return set()
    lines = Path("/proc/self/net/tcp").read_text().splitlines()[1:]
    rows = (line.split() for line in lines)
    return {int(row[1].split(":")[1], 16) for row in rows if f"socket:[{row[9]}]" in links}


class Way:
    """A proxy on a separate port that forwards bytes to a local port, in order and possibly delayed.

    Stalled bytes arrive later, as with TCP retransmission. A cut loses the bytes in transit, and neither end knows
    how much of them was executed.
    """

    def __init__(self, port: int, island: Island | None = None):
        self.delay_s = (0.0, 0.0)
        self.is_stalled = False
        # The process behind the proxy; set if an `Island` is used.
        self.target: Process | None = None
        self.behind = port
        self._island = island
        self._links: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter | None]] = set()
        self._chance = random.Random(port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        begun = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._link, "127.0.0.1", 0, backlog=512), self._loop
        )
        self._server = begun.result(60)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """Aborts every connection without a proper close."""
        self._loop.call_soon_threadsafe(self._cut)

    def close(self) -> None:
        def end() -> None:
            self._server.close()
            self._cut()
            self._loop.call_later(0.1, self._loop.stop)

        self._loop.call_soon_threadsafe(end)
        self._thread.join(5)

    def _cut(self) -> None:
        for ends in list(self._links):
            for end in ends:
                if end:
                    end.transport.abort()

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = writer.get_extra_info("peername")[1]
        if self._island:
            self._island.look()
        link = (writer, None)
        self._links.add(link)
        try:
            await self._gate(port)
            there, onward = await asyncio.open_connection("127.0.0.1", self.behind)
            self._links.discard(link)
            link = (writer, onward)
            self._links.add(link)
            state: dict = {}
            await asyncio.gather(
                self._pass_on(reader, link, port, True, state),
                self._pass_on(there, link, port, False, state),
            )
        except OSError:
            pass
        finally:
            self._links.discard(link)
            for end in link:
                if end:
                    end.close()

    async def _pass_on(
        self,
        source: asyncio.StreamReader,
        link: tuple[asyncio.StreamWriter, asyncio.StreamWriter],
        port: int,
        is_there: bool,
        state: dict,
    ) -> None:
        """Forwards bytes from the client if `is_there`, otherwise from the server."""
        target = link[1] if is_there else link[0]
        try:
            while piece := await source.read(65_536):
                low, high = self.delay_s
                if high:
                    await asyncio.sleep(self._chance.uniform(low, high))
                await self._gate(port)
                if not self._passes(piece, is_there, state):
                    for end in link:
                        end.transport.abort()
                    break
                target.write(piece)
                await target.drain()
            await self._gate(port)
        except OSError:
            pass
        # Redis and HTTP do not use half-closed connections.
        target.close()

    def _passes(self, piece: bytes, is_there: bool, state: dict) -> bool:
        """Returns whether a piece is forwarded; otherwise the connection is aborted.

        `state` belongs to the connection.
        """
        return True

    async def _gate(self, port: int) -> None:
        """Waits while the proxy is stalled or a partition separates the two ends."""
        while self.is_stalled or (self._island and self._island.is_between(port, self.target)):
            await asyncio.sleep(LOOK_S)
