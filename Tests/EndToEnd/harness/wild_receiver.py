"""A webhook receiver that fails at random in many ways, determined by a seed."""

import json
import random
import socket
import struct
import threading
import time

from .http_server import HTTPServer, Request
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


class WildReceiver(HTTPServer):
    """Accepts about half of the requests until `calm()`, then all.

    `receipts` has the accepted ones: those with a 2xx, sent completely or cut in the body.
    """

    # A killed notifier leaves broken connections.
    ignores_errors = True

    def __init__(self, seed: int):
        self.receipts = Receipts()
        self.met: dict[str, int] = dict.fromkeys(TROUBLE, 0)
        self._chance = random.Random(seed)
        self._is_calm = False
        self._lock = threading.Lock()
        super().__init__()
        self.url += "/hook"

    def answer(self, request: Request, body: bytes) -> tuple | None:
        trouble = self._draw()
        if trouble in ("ok", "cut", "drip"):
            self.receipts.add(Receipt.of("webhook", json.loads(body)))
        match trouble:
            case "ok":
                return (200,)
            case "429":
                return 429, b"", {"retry-after": "1"}
            case "redirect":
                return 307, b"", {"location": "/elsewhere"}
            case "slow":
                time.sleep(1.5)
            case "reset":
                linger = struct.pack("ii", 1, 0)
                request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                request.connection.close()
                request.close_connection = True
                return None
            case "cut" | "drip":
                request.send_response(200)
                request.send_header("content-length", "100" if trouble == "cut" else "4")
                request.end_headers()
                if trouble == "cut":
                    request.wfile.write(b"half")
                    request.close_connection = True
                    return None
                for byte in (b"d", b"r", b"i", b"p"):
                    time.sleep(0.3)
                    request.wfile.write(byte)
                return None
        return (500,)

    def calm(self) -> None:
        """Accepts every request from now on."""
        self._is_calm = True

    def _draw(self) -> str:
        with self._lock:
            drawn = self._chance.choices(list(TROUBLE), list(TROUBLE.values()))[0]
            trouble = "ok" if self._is_calm else drawn
            self.met[trouble] += 1
            return trouble
