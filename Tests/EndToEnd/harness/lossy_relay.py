"""A webhook relay that loses requests."""

import threading

import requests

from .http_server import HTTPServer, Request


class LossyRelay(HTTPServer):
    """Forwards every second request unchanged; accepts and drops the others."""

    def __init__(self, target: str):
        self.dropped = 0
        self.passed = 0
        self._lock = threading.Lock()
        self._target = target
        super().__init__()

    def answer(self, request: Request, body: bytes) -> tuple:
        with self._lock:
            is_lost = self.dropped <= self.passed
            self.dropped += is_lost
            self.passed += not is_lost
        if is_lost:
            return (200,)
        with requests.Session() as http:
            http.trust_env = False
            headers = {"Stripe-Signature": request.headers["Stripe-Signature"], "Content-Type": "application/json"}
            return (http.post(self._target, data=body, headers=headers, timeout=60).status_code,)
