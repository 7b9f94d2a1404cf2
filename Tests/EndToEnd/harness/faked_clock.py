"""A server's wall clock, which a test sets forward and back while the server runs."""

import mmap
import struct
from pathlib import Path

from .preloaded import preloaded


class FakedClock:
    """Shifts the server's wall clock. Its timers use the monotonic clock, which stays correct."""

    def __init__(self, folder: Path):
        self.env = preloaded(Path(__file__).with_suffix(".c"), folder)
        file = folder / "offset"
        file.write_bytes(struct.pack("q", 0))
        with file.open("r+b") as opened:
            self._offset = mmap.mmap(opened.fileno(), 8)
        self.env["FAKED_CLOCK_FILE"] = str(file)

    def set(self, seconds: int) -> None:
        """Shifts the clock by `seconds`; a negative number sets it back."""
        self._offset[:8] = struct.pack("q", seconds)
