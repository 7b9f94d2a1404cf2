"""A customer's webhook receiver that verifies every request."""

import json
import threading

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from .http_server import HTTPServer, Request
from .receipts import Receipt, Receipts


class WebhookSink(HTTPServer):
    """Verifies each request with the `standardwebhooks` package, records it and answers 200.

    `hold()` keeps requests waiting, like an overloaded receiver. `refuse(n)` answers the next n requests with 503.
    Held and refused requests are counted in `attempts`, but are not in `receipts`.
    """

    # Longer than any wait in the tests. A held request ends when it is released or the sink closes.
    HOLD_MAX_S = 600

    def __init__(self, secret: str, listener=None):
        self.receipts = Receipts(listener)
        self.attempts: list[str] = []
        self._webhook = Webhook(secret)
        self._open = threading.Event()
        self._open.set()
        self._refusals = 0
        self._lock = threading.Lock()
        super().__init__()
        self.url += "/hook"

    def answer(self, request: Request, body: bytes) -> tuple:
        lower = request.lower_headers()
        with self._lock:
            self.attempts.append(lower.get("webhook-id", "?"))
            if self._refusals > 0:
                self._refusals -= 1
                return (503,)
        if not self._open.is_set():
            if not self._open.wait(self.HOLD_MAX_S):
                return (503,)
        try:
            self._webhook.verify(body, lower)
        except WebhookVerificationError as error:
            self.receipts.problem(f"webhook {lower.get('webhook-id')}: {error}")
            return (401,)
        event = json.loads(body)
        if lower["webhook-id"] != event["id"]:
            self.receipts.problem(f"webhook-id {lower['webhook-id']} carries event {event['id']}")
        self.receipts.add(Receipt.of("webhook", event, lower))
        return (200,)

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def refuse(self, count: int) -> None:
        with self._lock:
            self._refusals = count

    def close(self) -> None:
        self._open.set()
        super().close()
