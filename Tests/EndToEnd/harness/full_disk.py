"""A simulated full disk, which fails writes to a server's append-only file."""

from pathlib import Path

from .preloaded import preloaded


class FullDisk:
    """The disk of a Redis server. Only writes to the append-only file fail while it is full."""

    def __init__(self, folder: Path):
        self._mark = folder / "full"
        self.env = preloaded(Path(__file__).with_suffix(".c"), folder) | {"FULL_DISK_FILE": str(self._mark)}

    def fill(self) -> None:
        self._mark.touch()

    def clear(self) -> None:
        self._mark.unlink()
