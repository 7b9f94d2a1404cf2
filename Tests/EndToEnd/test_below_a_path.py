"""Tests that console and return page work behind a proxy that publishes the API below a path."""

import pytest
import requests
from harness.browser import Browser, chromium
from harness.cluster import Cluster
from harness.console import Console
from harness.http_server import HTTPServer, Request

pytestmark = pytest.mark.skipif(not chromium(), reason="no chromium on this machine")

PREFIX = "/ops/poller"
KEY = "key-of-an-operator-0123456789"
# Hop-by-hop headers, which a proxy must not forward.
HOP = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "keep-alive"}


class Proxy(HTTPServer):
    """Removes a path prefix, as nginx does with `proxy_pass http://…/;`, and optionally sends it in a header."""

    # A browser closes its connections when it leaves a page.
    ignores_errors = True

    def __init__(self, target: str, tells: bool):
        self.strays: list[str] = []
        self._target = target
        self._tells = tells
        self._session = requests.Session()
        self._session.trust_env = False
        super().__init__()
        self.url += PREFIX

    def answer(self, request: Request, body: bytes) -> tuple:
        if not request.path.startswith(PREFIX + "/"):
            self.strays.append(request.path)
            return (404,)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP}
        if self._tells:
            headers["X-Forwarded-Prefix"] = PREFIX
        answer = self._session.request(
            request.command, self._target + request.path.removeprefix(PREFIX), headers=headers, data=body,
            allow_redirects=False, timeout=70,
        )
        hidden = HOP | {"content-encoding", "date", "server"}
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in hidden}
        return answer.status_code, answer.content, kept


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
    console = Console(shop.proxy.url, KEY)
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
    browser = Browser()
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
