"""A webhook relay that loses requests."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512


class LossyRelay:
    """Forwards every second request unchanged; accepts and drops the others."""

    def __init__(self, target: str):
        self.dropped = 0
        self.passed = 0
        self._lock = threading.Lock()
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 120

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                status = relay._pass_on(target, body, self.headers["Stripe-Signature"])
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_arguments) -> None:
                """Suppresses the request log; the counters suffice."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def _pass_on(self, target: str, body: bytes, signature: str) -> int:
        with self._lock:
            is_lost = self.dropped <= self.passed
            self.dropped += is_lost
            self.passed += not is_lost
        if is_lost:
            return 200
        with requests.Session() as http:
            http.trust_env = False
            headers = {"Stripe-Signature": signature, "Content-Type": "application/json"}
            return http.post(target, data=body, headers=headers, timeout=20).status_code

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
