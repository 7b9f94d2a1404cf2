"""A webhook receiver that accepts, fails, answers late or hangs, as the test configures it."""

import json
import threading
import time
from collections.abc import Callable

from .http_server import HTTPServer, Request


class MoodyReceiver(HTTPServer):
    """Answers with `status` and `headers`, or with the status that `mood` returns for each request.

    With `hang`, each request waits until `release` or until the receiver closes. `requests` holds the monotonic time,
    event and answered status of each request in order of arrival. `accepted` has only the events answered with 2xx.
    """

    # Longer than any wait in the tests.
    HANG_MAX_S = 600

    def __init__(
        self,
        status: int = 200,
        headers: dict[str, str] | None = None,
        hang: bool = False,
        mood: Callable[[], int] | None = None,
    ):
        self.status = status
        self._mood = mood
        self.headers = headers or {}
        self.requests: list[tuple[float, dict, int]] = []
        self._open = threading.Event()
        if not hang:
            self._open.set()
        self._lock = threading.Lock()
        super().__init__()
        self.url += "/hook"

    def answer(self, _request: Request, body: bytes) -> tuple:
        event = json.loads(body)
        with self._lock:
            status, headers = self._mood() if self._mood else self.status, dict(self.headers)
            self.requests.append((time.monotonic(), event, status))
        self._open.wait(self.HANG_MAX_S)
        return status, b"" if status == 204 else b"the answer is \x1b[1m%d" % status, headers

    @property
    def accepted(self) -> list[dict]:
        return [event for _, event, status in self.requests if 200 <= status < 300]

    def told(self, source: str) -> list[int]:
        """Returns the accepted sequence numbers of a source, in order of arrival."""
        return [event["seq"] for event in self.accepted if event["source"] == source]

    def hold(self) -> None:
        """Holds each further request until `release`."""
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def close(self) -> None:
        self.release()
        super().close()
