"""A webhook receiver that accepts, fails, answers late or hangs, as the test configures it."""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class MoodyReceiver:
    """Answers with `status` and `headers`, or with the status that `mood` returns for each request.

    With `hang`, each request waits until the receiver closes. `requests` holds the monotonic time, event and
    answered status of each request in order of arrival. `accepted` has only the events answered with 2xx.
    """

    # Longer than any wait in the tests.
    HANG_MAX_S = 60

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
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 120

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                status, headers = receiver._take(json.loads(body))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                answer = b"" if status == 204 else b"the answer is \x1b[1m%d" % status
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_arguments) -> None:
                """Suppresses the request log; `requests` is the log."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            # The library's default backlog of five loses connections that are made at the same time.
            request_queue_size = 128

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"

    def _take(self, event: dict) -> tuple[int, dict[str, str]]:
        with self._lock:
            status, headers = self._mood() if self._mood else self.status, dict(self.headers)
            self.requests.append((time.monotonic(), event, status))
        self._open.wait(self.HANG_MAX_S)
        return status, headers

    @property
    def accepted(self) -> list[dict]:
        return [event for _, event, status in self.requests if 200 <= status < 300]

    def told(self, source: str) -> list[int]:
        """Returns the accepted sequence numbers of a source, in order of arrival."""
        return [event["seq"] for event in self.accepted if event["source"] == source]

    def close(self) -> None:
        self._open.set()
        self._server.shutdown()
        self._server.server_close()
