"""Takes the screenshots of the documentation, with real payments in a real cluster and browser.

usage: python -m screenshots FOLDER
"""

import sys
from pathlib import Path

from harness.cluster import Cluster
from harness.console import Console
from harness.console_shop import Receivers, Shop

# The largest size of a screenshot in bytes. Larger ones make the README load slowly.
BYTES_MAX = 150_000


def payment(shop: Shop) -> str:
    """Makes a paid payment with an accepted webhook, and returns its address in the console."""
    shop.call("POST", "/v1/endpoints", url=f"{shop.receivers.url}/ok", name="Shop", types=["payment.*"])
    return f"#/payments/{shop.pays('A77', 4990)}"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    picture = Path(sys.argv[1]).resolve() / "console.png"
    receivers = Receivers()
    try:
        with Cluster(workers=1, notifiers=1, listen=False) as cluster:
            console = Console(cluster.api.url, cluster.logs)
            try:
                console.size(1180, 680)
                console.browser._call("Emulation.setScrollbarsHidden", hidden=True)
                address = payment(Shop(cluster, receivers=receivers))
                console.open(address)
                console.says("Shop")
                console.browser.picture(picture)
            finally:
                console.close()
    finally:
        receivers.close()
    size = picture.stat().st_size
    print(f"{picture}: {size} bytes")
    if size > BYTES_MAX:
        sys.exit(f"{picture} has more than {BYTES_MAX} bytes")


if __name__ == "__main__":
    main()
