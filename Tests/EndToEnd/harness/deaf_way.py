"""A proxy before Redis that passes commands on and can lose their answers."""

import threading

from .way import Way


class DeafWay(Way):
    """Loses the answers to chosen commands.

    The connection closes when the answer should arrive, as it does when a middlebox or a failover cuts it. The
    command was executed, but the client cannot know that.
    """

    def __init__(self, port: int):
        self._word = b""
        self._left = 0
        self._lock = threading.Lock()
        super().__init__(port)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def lose(self, word: bytes, count: int) -> None:
        """Loses the answers to the next `count` chunks that contain `word`."""
        with self._lock:
            self._word, self._left = word, count

    @property
    def left(self) -> int:
        with self._lock:
            return self._left

    def _passes(self, piece: bytes, is_there: bool, state: dict) -> bool:
        if not is_there:
            return not state.get("deaf")
        with self._lock:
            if self._left and self._word in piece:
                self._left -= 1
                state["deaf"] = True
        return True
