"""Tests the link at the end of the return page: to the shop, its app, or nowhere if the URL is unsafe."""

import pytest
from harness.browser import Browser, chromium
from harness.cluster import Cluster
from test_return_page import browser, create, landing, page  # noqa: F401

pytestmark = pytest.mark.skipif(not chromium(), reason="no chromium on this machine")

SHOP = "https://shop.example/"


@pytest.fixture(scope="module")
def branded(tmp_path_factory):
    """Starts a cluster of a shop with its own page."""
    file = tmp_path_factory.mktemp("config") / "poller.yaml"
    file.write_text(f"accounts:\n  default:\n    branding: {{name: Acme, url: '{SHOP}'}}\n")
    with Cluster(workers=1, listen=False, env={"POLLER_CONFIG_FILE": str(file)}) as cluster:
        yield cluster


def shown(page: Browser, cluster: Cluster, order: str | None = None, **metadata) -> list:
    """Returns the URL and text of the return link on the page of a failed payment."""
    source = create(cluster, metadata=metadata, **({"order": order} if order else {}))
    page.open(landing(cluster, source))
    page.wait_state("confirming")
    cluster.sandbox.set_status(source["id"], "failed")
    page.wait_state("failed")
    # Load the page again to check the server's HTML, not only the script's changes.
    page.open(f"{cluster.api.url}/r/{source['id']}")
    page.wait_state("failed")
    return page.evaluate(
        "(a => [a?.getAttribute('href') ?? null, a?.textContent ?? ''])"
        "(document.querySelector('#links a') ?? document.querySelector('footer a'))"
    )


@pytest.mark.parametrize(
    "home", ["acme-shop://orders/A77", "https://shop.example/app/orders/A77?x=1&y=2"], ids=["app", "web"]
)
def test_the_page_links_to_the_return_url_of_the_payment(page: Browser, calm: Cluster, home: str):
    assert shown(page, calm, f"W-{len(home)}", return_url=home) == [home, "Back to the shop"]
    assert f"W-{len(home)}" in page.text, "the order of the watch is the payer's, too"


@pytest.mark.parametrize(
    "evil", ["javascript:alert(1)", "javascript://%0aalert(1)", "data:text/html,x", "x\"onclick=1"],
    ids=["script", "script with slashes", "data", "quote"],
)
def test_an_unsafe_return_url_is_not_offered(page: Browser, calm: Cluster, evil: str):
    assert shown(page, calm, return_url=evil) == [None, ""]


def test_the_return_url_of_the_payment_overrides_that_of_the_shop(page: Browser, branded: Cluster, calm: Cluster):
    assert shown(page, branded) == [SHOP, "Back to Acme"]
    assert shown(page, branded, return_url="acme-shop://A77") == ["acme-shop://A77", "Back to Acme"]
    # The pages came from another cluster. The host check of the `page` fixture would fail on them.
    page.requests.clear()
