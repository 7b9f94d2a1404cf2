"""A host with two addresses, the first of which can be made to refuse connections."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path

from .preloaded import IS_HERE
from .way import Way

NAME = "two-addresses.test"
# On Linux, every address in 127.0.0.0/8 is this machine. The second address is 127.0.0.1.
FIRST = "127.0.0.2"
# The source of the library that resolves the name, for `preloaded`.
LIBRARY = Path(__file__).with_suffix(".c")


def can_be_resolved_by(program: str) -> bool:
    """Returns whether the library can be loaded into a program, which must be dynamically linked."""
    if not IS_HERE:
        return False
    with open(program, "rb") as file:
        # The path of the dynamic loader is in the first page of the file.
        return b"/ld-" in file.read(4096)


class TwoAddresses(Way):
    """A proxy to a port of this machine that listens at both addresses of `NAME`.

    `detours` counts the connections to the second address while the first one refuses.
    """

    def __init__(self, port: int):
        self.detours = 0
        self._first: asyncio.Server | None = None
        super().__init__(port)
        self.accept()

    @property
    def url(self) -> str:
        return f"http://{NAME}:{self.port}/hook"

    def accept(self) -> None:
        """Listens at the first address."""
        self._run(self._listen())

    def refuse(self) -> None:
        """Refuses connections at the first address and closes all open ones."""
        self._run(self._stop())

    def close(self) -> None:
        self.refuse()
        super().close()

    def _run(self, work: Coroutine) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _listen(self) -> None:
        self._first = await asyncio.start_server(self._link, FIRST, self.port, backlog=512)

    async def _stop(self) -> None:
        if self._first:
            self._first.close()
            self._first = None
        self._cut()

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.detours += self._first is None
        await super()._link(reader, writer)
