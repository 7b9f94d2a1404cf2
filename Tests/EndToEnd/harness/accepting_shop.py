"""A webhook receiver that accepts every request and keeps it."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Shop:
    """Records each request unchanged and answers it with `status`."""

    def __init__(self):
        self.requests: list[tuple[dict, bytes]] = []
        # The request paths, in order of arrival.
        self.paths: list[str] = []
        # The answer's status code, such as 503 to simulate an outage.
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
        # Thousands of connections may arrive at once.
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
