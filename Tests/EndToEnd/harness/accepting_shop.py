"""A shop that accepts whatever it is told, and keeps it."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Shop:
    """Keeps every request as it came and accepts it, or answers as `status` says."""

    def __init__(self):
        self.requests: list[tuple[dict, bytes]] = []
        # What was asked for, in the order in which it came.
        self.paths: list[str] = []
        # What it answers, such as 503 while it is down.
        self.status = 204
        shop = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 120

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                shop.paths.append(self.path)
                shop.requests.append(({k.lower(): v for k, v in self.headers.items()}, body))
                self.send_response(shop.status)
                if shop.status != 204:
                    self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        # Thousands may be told at once.
        self.server.socket.listen(1024)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        self.url = f"{self.origin}/hook"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def told(self, source: str) -> list[str]:
        events = [json.loads(body) for _, body in self.requests]
        return [event["status"] for event in events if event["source"] == source]

    def of(self, source: str) -> list[tuple[dict, bytes]]:
        return [(headers, body) for headers, body in self.requests if json.loads(body)["source"] == source]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
