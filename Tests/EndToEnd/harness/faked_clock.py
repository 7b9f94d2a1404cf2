"""A clock of a server that a test sets forward and back while the server runs."""

import mmap
import shutil
import struct
import subprocess
import sys
from pathlib import Path

# Swift's toolchain on Linux brings clang; any C compiler does.
COMPILER = next((found for name in ("clang", "cc", "gcc") if (found := shutil.which(name))), None)
IS_HERE = bool(COMPILER) and sys.platform == "linux"


class FakedClock:
    """What the server calls the time; its timers go by the monotonic clock, which stays true."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        library, file = folder / "faked_clock.so", folder / "offset"
        source = Path(__file__).with_suffix(".c")
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, source], check=True)
        file.write_bytes(struct.pack("q", 0))
        with file.open("r+b") as opened:
            self._offset = mmap.mmap(opened.fileno(), 8)
        self.env = {"LD_PRELOAD": str(library), "FAKED_CLOCK_FILE": str(file)}

    def set(self, seconds: int) -> None:
        """Makes the clock this much fast, or (negative) slow."""
        self._offset[:8] = struct.pack("q", seconds)
