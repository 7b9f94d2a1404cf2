"""A customer's webhook receiver that verifies every request."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from .receipts import Receipt, Receipts


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Several hundred sources settle at once in the load test.
    request_queue_size = 512


class WebhookSink:
    """Verifies each request with the `standardwebhooks` package, records it and answers 200.

    `hold()` keeps requests waiting, like an overloaded receiver. `refuse(n)` answers the next n requests with 503.
    Held and refused requests are counted in `attempts`, but are not in `receipts`.
    """

    # Longer than any wait in the tests. A held request ends when it is released or the sink closes.
    HOLD_MAX_S = 60

    def __init__(self, secret: str, listener=None):
        self.receipts = Receipts(listener)
        self.attempts: list[str] = []
        self._webhook = Webhook(secret)
        self._open = threading.Event()
        self._open.set()
        self._refusals = 0
        self._lock = threading.Lock()
        sink = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Without a timeout, a keep-alive connection would keep its thread after the test.
            timeout = 120

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                status = sink._take(self.rfile.read(length), dict(self.headers.items()))
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_arguments) -> None:
                """Suppresses the request log; the receipts are the log."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}/hook"

    def _take(self, body: bytes, headers: dict) -> int:
        lower = {name.lower(): value for name, value in headers.items()}
        with self._lock:
            self.attempts.append(lower.get("webhook-id", "?"))
            if self._refusals > 0:
                self._refusals -= 1
                return 503
        if not self._open.is_set():
            if not self._open.wait(self.HOLD_MAX_S):
                return 503
        try:
            self._webhook.verify(body, lower)
        except WebhookVerificationError as error:
            self.receipts.problem(f"webhook {lower.get('webhook-id')}: {error}")
            return 401
        event = json.loads(body)
        if lower["webhook-id"] != event["id"]:
            self.receipts.problem(f"webhook-id {lower['webhook-id']} carries event {event['id']}")
        self.receipts.add(Receipt.of("webhook", event, lower))
        return 200

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def refuse(self, count: int) -> None:
        with self._lock:
            self._refusals = count

    def close(self) -> None:
        self._open.set()
        self._server.shutdown()
        self._server.server_close()
