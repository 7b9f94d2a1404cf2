"""A small HTTP server on loopback: the base of the receivers and upstreams of the tests."""

import json
import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Request(BaseHTTPRequestHandler):
    """One request; it has `command`, `path` and `headers`."""

    protocol_version = "HTTP/1.1"
    # Without a timeout, a keep-alive connection would keep its thread after the test.
    timeout = 120

    def _answer(self) -> None:
        length = int(self.headers.get("content-length", 0))
        body = self.rfile.read(length)
        if len(body) < length:
            # The client was killed while it sent the request.
            self.close_connection = True
            return
        answer = self.server.owner.answer(self, body)
        if answer is not None:
            self.reply(*answer)

    do_GET = do_POST = _answer

    def reply(self, status: int, body: bytes | dict = b"", headers: dict[str, str] | None = None) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if not isinstance(body, bytes):
            self.send_header("content-type", "application/json")
        if status != 204:
            self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def lower_headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def log_message(self, *_arguments) -> None:
        """Suppresses the request log; each server keeps its own."""


class _Server(ThreadingHTTPServer):
    # The library's default backlog of five loses connections that are made at the same time.
    request_queue_size = 1024

    def handle_error(self, *arguments) -> None:
        if not self.owner.ignores_errors:
            super().handle_error(*arguments)


class HTTPServer:
    """Answers GET and POST with what `answer` returns: a status, a body and headers; `None` if it has answered itself.

    A subclass sets its fields before it calls `super().__init__()`, which starts the server.
    """

    # Whether broken connections are part of the test.
    ignores_errors = False

    def __init__(self, port: int = 0, tls: ssl.SSLContext | None = None):
        self._server = _Server(("127.0.0.1", port), Request)
        self._server.owner = self
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_port
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, request: Request, body: bytes) -> tuple | None:
        raise NotImplementedError

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.close()
