"""Tests that a waiting command reports the cause: an unavailable store, or a stopped server."""

import json
import os
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harness.cluster import program
from harness.commands import run
from harness.redis_server import free_port

ENQUEUED = {
    "created": 1, "restarted": 0, "joined": 0, "duplicates": 0,
    "data": [{"source": "src_1", "account": "default", "outcome": "created", "run": 1, "seq": 0}],
}
STORE_DOWN = {
    "type": "urn:poller:problem:store_unavailable", "title": "The store cannot be reached.",
    "status": 503, "detail": "Connection refused.", "code": "store_unavailable",
}
EVENTS = {"data": [], "has_more": False, "next": "c1", "gap": False}


class Server(ThreadingHTTPServer):
    """Returns prepared responses, and never answers a long poll of events."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int):
        self.answers: list[tuple[float, int, dict]] = []
        self.polled = threading.Event()
        super().__init__(("127.0.0.1", port), Answer)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def stop(self):
        self.shutdown()
        self.server_close()


class Answer(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(*self.server.answers.pop(0))

    def do_GET(self):
        if "wait=" in self.path:
            self.server.polled.set()
            # Waits until the test stops the server.
            time.sleep(1)
            self.close_connection = True
        else:
            self.answer(0, 200, EVENTS)

    def answer(self, seconds: float, status: int, body: dict):
        time.sleep(seconds)
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = Server(free_port())
    yield server
    server.stop()


def test_enqueue_reports_why_it_retries(server: Server):
    server.answers = [(0, 503, STORE_DOWN), (0, 503, STORE_DOWN), (0, 200, ENQUEUED)]
    done = run("pollerctl", "enqueue", "src_1", env={"POLLER_URL": server.url})
    assert done.returncode == 0 and "src_1" in done.stdout
    assert done.stderr.count("The store cannot be reached.") == 1, done.stderr
    assert "Retrying for up to 30 s" in done.stderr


def test_enqueue_reports_a_missing_response_after_two_seconds(server: Server):
    def told(seconds: float, *options: str) -> str:
        server.answers = [(seconds, 200, ENQUEUED)]
        done = run("pollerctl", "enqueue", "src_1", *options, env={"POLLER_URL": server.url})
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert f"no response from {server.url} for 2 s" in told(5)
    assert told(5, "--json") == ""
    # On a busy machine one of these may take two seconds.
    assert any(told(0) == "" for _ in range(5))


def test_follow_reports_a_lost_server_and_its_return():
    port = free_port()
    server = Server(port)
    follow = subprocess.Popen(
        [program("pollerctl"), "follow"], env=os.environ | {"POLLER_URL": server.url},
        stderr=subprocess.PIPE, text=True,
    )
    try:
        assert server.polled.wait(60)
        server.stop()
        assert f"no answer from {server.url}" in follow.stderr.readline()
        assert "continue from here" in follow.stderr.readline()
        server = Server(port)
        assert f"{server.url} is available again; events continue" in follow.stderr.readline()
        assert follow.poll() is None
    finally:
        follow.kill()
        follow.wait()
        server.stop()
