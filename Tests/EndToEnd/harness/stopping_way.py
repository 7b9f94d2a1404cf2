"""A proxy before Redis that stops at a chosen command, so that a process can be killed in the middle of its work."""

from .way import Way


class StoppingWay(Way):
    """Passes commands on, up to and with the `count`th chunk that contains `word`, and then nothing.

    Redis executes that command, and its client waits for the answer. `is_stalled` tells that it has come so far.
    """

    def __init__(self, port: int, word: bytes, count: int):
        self._word, self._left = word, count
        super().__init__(port)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def _passes(self, piece: bytes, is_there: bool, state: dict) -> bool:
        if is_there and self._word in piece:
            self._left -= 1
            # This chunk has passed the gate already.
            self.is_stalled = self._left <= 0
        return True
