"""A clock of a server that a test sets forward and back while the server runs."""

import mmap
import struct
from pathlib import Path

from .preloaded import preloaded


class FakedClock:
    """What the server calls the time; its timers go by the monotonic clock, which stays true."""

    def __init__(self, folder: Path):
        self.env = preloaded(Path(__file__).with_suffix(".c"), folder)
        file = folder / "offset"
        file.write_bytes(struct.pack("q", 0))
        with file.open("r+b") as opened:
            self._offset = mmap.mmap(opened.fileno(), 8)
        self.env["FAKED_CLOCK_FILE"] = str(file)

    def set(self, seconds: int) -> None:
        """Makes the clock this much fast, or (negative) slow."""
        self._offset[:8] = struct.pack("q", seconds)
