"""Takes the screenshots of the documentation, with real payments in a real cluster and browser.

usage: python -m screenshots FOLDER
"""

import sys
from pathlib import Path

from harness.browser import Chromium
from harness.cluster import Cluster
from harness.console import Console
from harness.console_shop import Receivers, Shop
from harness.waiting import wait_until

from .palette import reduced

# The largest size of a screenshot in bytes. Larger ones make the guides load slowly.
BYTES_MAX = 60_000
# The menu fits the smallest height.
WIDTH, HEIGHT_MIN, HEIGHT_MAX = 1180, 600, 680


def fill(shop: Shop) -> str:
    """Makes payments and endpoints, of which two fail; returns the address of a paid payment in the console."""
    receivers = shop.receivers.url
    shop.call("POST", "/v1/endpoints", url=f"{receivers}/ok", name="Shop", types=["payment.*"])
    address = f"#/payments/{shop.pays('A77', 4990)}"
    for name, path, retry in [("Warehouse", "/down", "default"), ("Accounting", "/bad", "none")]:
        shop.call("POST", "/v1/endpoints", url=receivers + path, name=name, types=["payment.paid"], retry=retry)
    for number, amount in enumerate([1250, 8900, 2399], 78):
        shop.pays(f"A{number}", amount)
    shop.watches("A81", 3150)
    wait_until(lambda: len(shop.call("GET", "/v1/deliveries?state=dead")["data"]) == 3, 20, "dead letters")
    wait_until(lambda: any((one.get("health") or {}).get("failing_since") for one in shop.call("GET", "/v1/endpoints")["data"]),
               20, "a failing endpoint")
    return address


def take(console: Console, folder: Path, name: str, address: str, text: str) -> None:
    """Takes the screenshot of a page that shows a text, not higher than the page."""
    console.size(WIDTH, HEIGHT_MAX)
    console.open(address)
    console.says(text)
    # Notices and the mark of the focused title are no part of the page.
    console.js("document.activeElement?.blur()")
    end = console.js("Math.ceil(document.querySelector('#main').lastElementChild.getBoundingClientRect().bottom) + 24")
    console.size(WIDTH, max(HEIGHT_MIN, min(HEIGHT_MAX, end)))
    file = folder / f"{name}.png"
    console.browser.picture(file)
    file.write_bytes(reduced(file.read_bytes()))
    size = file.stat().st_size
    print(f"{file}: {size} bytes")
    if size > BYTES_MAX:
        sys.exit(f"{file} has more than {BYTES_MAX} bytes")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1]).resolve()
    receivers = Receivers()
    try:
        with Cluster(workers=2, notifiers=1, listen=False) as cluster:
            console = Console(cluster.api.url)
            try:
                console.browser._call("Emulation.setScrollbarsHidden", hidden=True)
                address = fill(Shop(cluster, receivers=receivers))
                take(console, folder, "console", address, "Notified: Paid")
                take(console, folder, "console-overview", "#/?span=1h", "Latest changes")
                take(console, folder, "console-endpoints", "#/endpoints", "Failing")
                take(console, folder, "console-dead-letters", "#/deliveries?state=dead", "Dead letter")
            finally:
                console.close()
    finally:
        Chromium.end()
        receivers.close()


if __name__ == "__main__":
    main()
