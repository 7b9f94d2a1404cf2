"""A webhook receiver that fails at random in many ways, determined by a seed."""

import json
import random
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .receipts import Receipt, Receipts

# The outcome of a request and its probability in percent.
TROUBLE = {
    "ok": 50,
    "500": 14,
    "429": 6,
    "redirect": 6,
    "reset": 8,
    "cut": 6,
    "slow": 6,
    "drip": 4,
}


class WildReceiver:
    """Accepts about half of the requests until `calm()`, then all.

    `receipts` has the accepted ones: those with a 2xx, sent completely or cut in the body.
    """

    def __init__(self, seed: int):
        self.receipts = Receipts()
        self.met: dict[str, int] = dict.fromkeys(TROUBLE, 0)
        self._chance = random.Random(seed)
        self._is_calm = False
        self._lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                trouble = receiver._draw()
                if trouble in ("ok", "cut", "drip"):
                    receiver.receipts.add(Receipt.of("webhook", body))
                getattr(self, f"_{trouble}", self._status)(trouble)

            def _status(self, status: str, **headers: str) -> None:
                self.send_response(int(status))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("content-length", "0")
                self.end_headers()

            def _ok(self, _trouble: str) -> None:
                self._status("200")

            def _429(self, trouble: str) -> None:
                self._status(trouble, retry_after="1")

            def _redirect(self, _trouble: str) -> None:
                self._status("307", location="/elsewhere")

            def _slow(self, _trouble: str) -> None:
                time.sleep(1.5)
                self._status("500")

            def _reset(self, _trouble: str) -> None:
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.connection.close()
                self.close_connection = True

            def _cut(self, _trouble: str) -> None:
                self.send_response(200)
                self.send_header("content-length", "100")
                self.end_headers()
                self.wfile.write(b"half")
                self.close_connection = True

            def _drip(self, _trouble: str) -> None:
                self.send_response(200)
                self.send_header("content-length", "4")
                self.end_headers()
                for byte in (b"d", b"r", b"i", b"p"):
                    time.sleep(0.3)
                    self.wfile.write(byte)

            def log_message(self, *_arguments) -> None:
                """Suppresses the request log; the receipts are the log."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            # The library's default backlog of five loses connections that are made at the same time.
            request_queue_size = 128

            def handle_error(self, *_arguments) -> None:
                """Ignores broken connections, which a killed notifier leaves as part of the test."""

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"

    def calm(self) -> None:
        """Accepts every request from now on."""
        self._is_calm = True

    def _draw(self) -> str:
        with self._lock:
            drawn = self._chance.choices(list(TROUBLE), list(TROUBLE.values()))[0]
            trouble = "ok" if self._is_calm else drawn
            self.met[trouble] += 1
            return trouble

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
