"""A stripe-sandbox process for one test, the official client for it, and a webhook receiver."""

import json
import os
import queue
import re
import signal
import subprocess
import time
import urllib.parse
from pathlib import Path

import requests
import stripe

from harness.http_server import HTTPServer, Request
from harness.stripe_schema import StripeSchemas
from harness.waiting import wait_until

SECRET_KEY = "sk_test_0123456789abcdef"
WEBHOOK_SECRET = "whsec_end_to_end"
RETURN_URL = "https://shop.example.com/back?order=6"
HOUR = 3600
DAY = 24 * HOUR


def eventually(ask, seconds: float = 60):
    """Returns the first truthy result."""
    return wait_until(ask, seconds, "a true answer")


class Hook(HTTPServer):
    """A webhook receiver on a free port that refuses the first `refusals` attempts for an object, or for any."""

    def __init__(self):
        self.attempts: queue.Queue = queue.Queue()
        self.refusals = 0
        self.refused_object: str | None = None
        super().__init__()
        self.url += "/hook"

    def answer(self, request: Request, body: bytes) -> tuple:
        concerned = self.refused_object is None or self.refused_object.encode() in body
        refused = self.refusals > 0 and concerned
        self.refusals -= refused
        self.attempts.put((body, request.headers["Stripe-Signature"], refused))
        return (500 if refused else 200,)

    def take(self, type: str, object_id: str, refused: bool = False) -> tuple[bytes, str]:
        """Returns body and signature of the next attempt for this event type and object; keeps the others."""
        deadline = time.monotonic() + 60
        others = []
        try:
            while time.monotonic() < deadline:
                attempt = self.attempts.get(timeout=60)
                body, header, was_refused = attempt
                event = json.loads(body)
                if event["type"] == type and event["data"]["object"]["id"] == object_id:
                    assert was_refused == refused
                    return body, header
                others.append(attempt)
        finally:
            for other in others:
                self.attempts.put(other)
        raise AssertionError(f"no {type} for {object_id}")

    def next(self) -> dict:
        """Returns the next event of any type."""
        return json.loads(self.attempts.get(timeout=60)[0])

    def empty(self) -> None:
        while not self.attempts.empty():
            self.attempts.get()


class JudgingClient(stripe.RequestsClient):
    """Stripe's HTTP client, which validates every response against the schemas."""

    def __init__(self, schemas: StripeSchemas):
        super().__init__()
        self._schemas = schemas

    def request(self, method, url, headers, post_data=None):
        content, status, answer_headers = super().request(method, url, headers, post_data)
        if answer_headers.get("Content-Type") == "application/json":
            try:
                body = json.loads(content)
            except ValueError:
                return content, status, answer_headers
            self._schemas.check(body)
        return content, status, answer_headers


class StripeLab:
    """The sandbox, its clients, and the count of validated responses."""

    def __init__(self, *options: str, webhook: bool = False):
        self._options = options
        self.hook = Hook() if webhook else None
        self.schemas = StripeSchemas()

    def __enter__(self) -> "StripeLab":
        binary = Path(os.environ["POLLER_BIN_DIR"]) / "stripe-sandbox"
        command = [str(binary), "--bind", "127.0.0.1:0", "--auto-delay", "0.2", *self._options]
        if self.hook:
            command += ["--webhook", self.hook.url, "--webhook-secret", WEBHOOK_SECRET]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        match = re.fullmatch(r"stripe-sandbox listening on (http://127\.0\.0\.1:\d+)\n", line)
        assert match, line
        self.url = match[1]
        self.http = requests.Session()
        self.http.trust_env = False
        self.client = self.client_for(SECRET_KEY)
        self.v1 = self.client.v1
        return self

    def __exit__(self, *_) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=60) == 0
        if self.hook:
            self.hook.close()

    def client_for(self, key: str, **options) -> stripe.StripeClient:
        options = {"max_network_retries": 0} | options
        return stripe.StripeClient(
            key, base_addresses={"api": self.url}, http_client=JudgingClient(self.schemas), **options
        )

    # Actions of banks, customers and Stripe.

    def control(self, path: str, body: dict | None = None, method: str = "POST") -> dict:
        answer = self.http.request(method, f"{self.url}/_sandbox/{path}", json=body, timeout=60)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text[:500]}"
        return answer.json()

    def advance(self, seconds: float) -> None:
        self.control("clock/advance", {"seconds": seconds})

    def press(self, thing, button: str, **query) -> dict:
        """Presses a button on the customer's page; returns the query parameters of the return URL."""
        answer = self.http.post(
            f"{self.url}/redirect/{thing.id}/{button}", params=query, allow_redirects=False, timeout=60
        )
        assert answer.status_code == 303, answer.text
        return urllib.parse.parse_qs(urllib.parse.urlsplit(answer.headers["Location"]).query)

    def pay(self, thing, amount: int, **more) -> None:
        family = "payment_intents" if thing.id.startswith("pi_") else "sources"
        self.control(f"{family}/{thing.id}/payments", {"amount": amount} | more)

    def fault(self, mode: str, match: str, **plan) -> str:
        return self.control("faults", {"mode": mode, "match": match} | plan)["id"]

    # Actions of a shop.

    def source(self, type: str = "ideal", **more) -> stripe.Source:
        params = {
            "type": type,
            "amount": 1099,
            "currency": "eur",
            "owner": {"name": "Zoë & Söhne", "email": "zoe@example.com"},
            "redirect": {"return_url": RETURN_URL},
            "metadata": {"order": "6"},
        }
        return self.v1.sources.create({k: v for k, v in (params | more).items() if v is not None})

    def again(self, thing):
        """Returns the current state of an object."""
        family = {
            "source": self.v1.sources,
            "payment_intent": self.v1.payment_intents,
            "setup_intent": self.v1.setup_intents,
            "charge": self.v1.charges,
            "refund": self.v1.refunds,
            "dispute": self.v1.disputes,
        }[thing.object]
        return family.retrieve(thing.id)

    def until(self, thing, status: str):
        """Polls until the object has this status."""

        def ask():
            now = self.again(thing)
            return now if now.status == status else None

        return eventually(ask)

    def charge(self, source, amount: int = 1099, currency: str = "eur", **more) -> stripe.Charge:
        params = {"amount": amount, "currency": currency, "source": source.id} | more
        return self.v1.charges.create(params, {"idempotency_key": f"order-{source.id}-{amount}"})

    def events(self, thing) -> list[str]:
        """Returns the types of an object's events, oldest first."""
        listed = self.v1.events.list({"limit": 100}).auto_paging_iter()
        found = [event.type for event in listed if event.data.object.id == thing.id]
        return found[::-1]
