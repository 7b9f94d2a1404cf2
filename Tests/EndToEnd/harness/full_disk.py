"""A disk that has no room left for a server's append-only file while a test says so."""

from pathlib import Path

from .preloaded import preloaded


class FullDisk:
    """The disk of a Redis; all that is written beside its append-only file has room."""

    def __init__(self, folder: Path):
        self._mark = folder / "full"
        self.env = preloaded(Path(__file__).with_suffix(".c"), folder) | {"FULL_DISK_FILE": str(self._mark)}

    def fill(self) -> None:
        self._mark.touch()

    def clear(self) -> None:
        self._mark.unlink()
