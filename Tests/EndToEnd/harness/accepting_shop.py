"""A webhook receiver that accepts every request and keeps it."""

import json

from .http_server import HTTPServer, Request


class Shop(HTTPServer):
    """Records each request unchanged and answers it with `status`."""

    def __init__(self):
        self.requests: list[tuple[dict, bytes]] = []
        # The request paths, in order of arrival.
        self.paths: list[str] = []
        # The answer's status code, such as 503 to simulate an outage.
        self.status = 204
        super().__init__()
        self.origin = self.url
        self.url = f"{self.origin}/hook"

    def answer(self, request: Request, body: bytes) -> tuple:
        self.paths.append(request.path)
        self.requests.append((request.lower_headers(), body))
        return (self.status,)

    def told(self, source: str) -> list[str]:
        events = [json.loads(body) for _, body in self.requests]
        return [event["status"] for event in events if event["source"] == source]

    def of(self, source: str) -> list[tuple[dict, bytes]]:
        return [(headers, body) for headers, body in self.requests if json.loads(body)["source"] == source]
