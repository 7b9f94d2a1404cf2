"""Tests that console and return page work behind a proxy that publishes the API below a path."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests
from harness.browser import Browser, chromium
from harness.cluster import Cluster
from harness.console import Console

pytestmark = pytest.mark.skipif(not chromium(), reason="no chromium on this machine")

PREFIX = "/ops/poller"
KEY = "key-of-an-operator-0123456789"
# Hop-by-hop headers, which a proxy must not forward.
HOP = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "keep-alive"}


class Proxy:
    """Removes a path prefix, as nginx does with `proxy_pass http://…/;`, and optionally sends it in a header."""

    def __init__(self, target: str, tells: bool):
        proxy = self
        self.strays: list[str] = []
        session = requests.Session()
        session.trust_env = False

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                if not self.path.startswith(PREFIX + "/"):
                    proxy.strays.append(self.path)
                    self.send_error(404)
                    return
                headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
                if tells:
                    headers["X-Forwarded-Prefix"] = PREFIX
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                answer = session.request(self.command, target + self.path.removeprefix(PREFIX), headers=headers,
                                         data=body, allow_redirects=False, timeout=70)
                self.send_response(answer.status_code)
                for name, value in answer.headers.items():
                    if name.lower() not in HOP | {"content-encoding", "date", "server"}:
                        self.send_header(name, value)
                self.send_header("content-length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            do_GET = do_POST = answer

            def log_message(self, *_arguments) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_arguments) -> None:
                # A browser closes its connections when it leaves a page.
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}{PREFIX}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module", params=["told", "configured"])
def shop(request, tmp_path_factory):
    """A cluster behind a proxy; the prefix comes from the configuration or from each request's header."""
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(f"{KEY} role=admin name=operator\n")
    tells = request.param == "told"
    more = {"POLLER_TRUSTED_PROXIES": "127.0.0.1"} if tells else {"POLLER_BASE_PATH": PREFIX}
    with Cluster(workers=1, listen=False, env={"POLLER_API_KEYS_FILE": str(keys)} | more) as cluster:
        cluster.api.http.headers["Authorization"] = f"Bearer {KEY}"
        cluster.proxy = Proxy(cluster.api.url, tells)
        yield cluster
        cluster.proxy.close()


def test_the_console_works_below_the_path(shop: Cluster):
    console = Console(shop.proxy.url, shop.logs, KEY)
    try:
        console.open("#/payments")
        console.says("Payments")
        console.open("#/")
        console.says("Overview")
        # A browser requests an icon automatically.
        ours = [url for url in console.browser.requests if url.startswith("http") and not url.endswith("/favicon.ico")]
        assert any("/v1/stats" in url for url in ours)
        assert all(url.startswith(shop.proxy.url + "/") for url in ours), ours
        assert [path for path in shop.proxy.strays if path != "/favicon.ico"] == []
        assert console.browser.complaints == []
    finally:
        console.close()


def test_a_payer_stays_below_the_path(shop: Cluster):
    source = shop.sandbox.create_source()
    secret = shop.sandbox.source(source)["client_secret"]
    answer = shop.api.enqueue(source, policy="interactive", client_secret=secret)
    assert answer.status_code == 201, answer.text
    browser = Browser(shop.logs)
    try:
        browser.open(f"{shop.proxy.url}/r?source={source}&client_secret={secret}")
        shop.sandbox.authorise(source)
        browser.wait_state("authorised")
        pages = [url for url in browser.requests if "/r" in url]
        assert any(url.endswith("/state") or "/state?" in url for url in pages), pages
        assert all(url.startswith(shop.proxy.url + "/r") for url in pages), pages
        assert [path for path in shop.proxy.strays if path != "/favicon.ico"] == []
    finally:
        browser.close()
