"""A shop with payments and endpoints in many states, for the console to show."""

import requests

from .cluster import Cluster
from .http_server import HTTPServer, Request
from .waiting import wait_until

EVIL = "<img src=x onerror='window.hit=1'><script>window.hit=1</script>"


class Receivers(HTTPServer):
    """Webhook receivers by path.

    `/ok` accepts, `/bad` refuses with an HTML page, `/down` is unavailable, and `/gone` answers 410.
    """

    ANSWERS = {"/ok": 200, "/bad": 400, "/down": 503, "/gone": 410}

    def __init__(self):
        self.mended: set[str] = set()
        super().__init__()

    def answer(self, request: Request, _body: bytes) -> tuple:
        if request.command == "GET":
            # HTML that is no payment status, as from a broken bank.
            return 200, EVIL.encode()
        status = 200 if request.path in self.mended else self.ANSWERS[request.path]
        return status, b"" if status == 200 else EVIL.encode()


class Shop:
    """The shop's payments and endpoints."""

    def __init__(self, cluster: Cluster, key: str | None = None, receivers: Receivers | None = None):
        self.cluster = cluster
        self.receivers = receivers or Receivers()
        self.endpoints: dict[str, str] = {}
        self._http = requests.Session()
        self._http.trust_env = False
        if key:
            self._http.headers["Authorization"] = f"Bearer {key}"

    def call(self, method: str, path: str, **body) -> dict:
        options = {"json": body} if body else {}
        answer = self._http.request(method, self.cluster.api.url + path, timeout=60, **options)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def endpoint(self, name: str, path: str, **fields) -> str:
        made = self.call("POST", "/v1/endpoints", url=self.receivers.url + path, **fields)
        self.endpoints[name] = made["id"]
        return made["id"]

    def watches(self, order: str, amount: int = 1099, **fields) -> str:
        """Creates and watches an iDEAL payment for an order, and waits for its first poll."""
        source = self.cluster.sandbox.create_source("ideal", amount)
        fields = {"policy": "interactive", "metadata": {"customer": "Jane Doe"}, "notify": ["mailto:jane@example.com"]} | fields
        self.call("POST", "/v1/watches", source=source, order=order, **fields)
        if fields.get("account", "default") == "default":
            self.until(source, lambda watch: watch["status"])
        return source

    def until(self, source: str, true, timeout_s: float = 60) -> dict:
        def look() -> dict | None:
            watch = self.call("GET", f"/v1/watches/{source}")
            return watch if true(watch) else None

        return wait_until(look, timeout_s, f"{source} is as it is to be", pause_s=0.1)

    def pays(self, order: str, amount: int) -> str:
        """Takes a payment from its creation until it is paid."""
        source = self.watches(order, amount)
        self.cluster.sandbox.authorise(source)
        self.until(source, lambda watch: watch["status"] == "chargeable")
        self.cluster.sandbox.charge(source, amount)
        self.until(source, lambda watch: watch.get("payment", {}).get("state") == "paid")
        return source

    def quarantines(self, order: str) -> str:
        """Returns a payment that is in quarantine after five unreadable upstream responses."""
        source = self.watches(order, 3300)
        fault = self.cluster.sandbox.fault("html", f"/v1/sources/{source}")
        self._gives_up(source)
        self.cluster.sandbox.clear_fault(fault)
        return source

    def _gives_up(self, source: str, query: str = "") -> None:
        """Polls a payment repeatedly until it is in quarantine."""

        def look() -> bool:
            found = self.call("GET", f"/v1/watches/{source}/explain{query}")
            # A poll that is requested during another one reopens the watch if that one closes it.
            if found["place"] == "waiting":
                self.call("POST", f"/v1/watches/{source}/poll{query}")
            return found.get("closed_reason") == "dead"

        wait_until(look, 60, f"{source} is in quarantine", pause_s=0.3)

    def sells(self) -> None:
        """Creates payments and endpoints in every state."""
        self.endpoint("bad", "/bad", types=["payment.paid"], retry="none")
        self.endpoint("gone", "/gone", types=["payment.paid"])
        self.paid = self.pays("PAID-1", 4500)
        self.open = self.watches("OPEN-1", 1200)
        self.twice = [self.watches("TWICE-1", 990), self.watches("TWICE-1", 990)]
        failed = self.watches("FAILED-1", 800)
        self.cluster.sandbox.set_status(failed, "failed")
        self.watches("EVIL-1", 666, metadata={"customer": EVIL, "note": EVIL})
        self.dead = self.quarantines("DEAD-1")
        self.call("POST", "/v1/watches", url=f"{self.receivers.url}/bank/BANK-1", policy="interactive", order="BANK-1")
        self._gives_up("BANK-1", "?kind=http&account=bank")
        self.foreign = self.watches("FOREIGN-1", 500, account="acme")

    def close(self) -> None:
        self.receivers.close()
