"""A client of the Stripe sandbox: its API, its pages and its controls."""

import time

import requests


class Sandbox:
    """Performs the actions of a shop, its customer and the bank, and reads the history of what happened."""

    KEY = "sk_test_demo"
    PATIENCE_S = 60

    def __init__(self, url: str):
        self.url = url
        self._http = requests.Session()
        self._http.trust_env = False
        self._happened: dict[str, list[dict]] = {}
        self._since = 0

    def _call(self, method: str, path: str, **options) -> dict:
        end = time.monotonic() + self.PATIENCE_S
        response = self._http.request(method, self.url + path, timeout=60, **options)
        while self._is_busy(response) and time.monotonic() < end:
            time.sleep(0.1)
            response = self._http.request(method, self.url + path, timeout=60, **options)
        assert response.ok, f"{method} {path}: {response.status_code} {response.text[:500]}"
        return response.json()

    @staticmethod
    def _is_busy(response: requests.Response) -> bool:
        """Returns whether another request holds the object, in which case nothing was done and a retry is due."""
        if response.status_code not in (409, 429):
            return False
        return any(code in response.text for code in ("lock_timeout", "idempotency_key_in_use"))

    def _stripe(self, method: str, path: str, form: dict | None = None) -> dict:
        return self._call(method, path, data=form, auth=(self.KEY, ""))

    def create_source(self, type: str = "ideal", amount: int = 1099, account: str | None = None) -> str:
        """Creates a source of the platform, or of a connected account."""
        form = {"type": type, "amount": amount, "currency": "eur"}
        form["redirect[return_url]"] = "http://127.0.0.1/thanks"
        headers = {"Stripe-Account": account} if account else {}
        return self._call("POST", "/v1/sources", data=form, auth=(self.KEY, ""), headers=headers)["id"]

    def source(self, source: str) -> dict:
        return self._stripe("GET", f"/v1/sources/{source}")

    def create_sources(self, count: int) -> list[str]:
        return self._call("POST", "/_sandbox/bulk", json={"count": count, "type": "ideal"})["ids"]

    def authorise(self, source: str) -> None:
        """Clicks the customer's authorise button on the bank's page."""
        response = self._http.post(
            f"{self.url}/redirect/{source}/authorize", allow_redirects=False, timeout=60
        )
        assert response.status_code == 303, f"authorize: {response.status_code} {response.text}"

    def charge(self, source: str, amount: int = 1099) -> dict:
        form = {"source": source, "amount": amount, "currency": "eur"}
        return self._stripe("POST", "/v1/charges", form)

    def create_intent(self, amount: int = 2000) -> str:
        form = {
            "amount": amount,
            "currency": "eur",
            "payment_method_types[]": "ideal",
            "payment_method_data[type]": "ideal",
            "confirm": "true",
            "return_url": "http://127.0.0.1/thanks",
        }
        return self._stripe("POST", "/v1/payment_intents", form)["id"]

    def set_status(self, source: str, status: str) -> None:
        """Changes the status of a source or intent as the bank would, without a customer."""
        family = "payment_intents" if source.startswith("pi_") else "sources"
        self._call("POST", f"/_sandbox/{family}/{source}/status", json={"status": status})

    def fault(self, mode: str, match: str = "/v1/", **plan) -> str:
        """Enables a fault for paths that begin with `match`; returns its ID."""
        plan |= {"match": match, "mode": mode}
        return self._call("POST", "/_sandbox/faults", json=plan)["id"]

    def grant(self, key: str, **permissions: str) -> None:
        """Creates a restricted key with exactly these permissions."""
        self._call("POST", "/_sandbox/keys", json={"key": key, "permissions": permissions})

    def clear_fault(self, fault: str) -> None:
        self._call("DELETE", f"/_sandbox/faults/{fault}")

    def polls(self, source: str) -> list[dict]:
        """Returns the GET requests for a source or intent, oldest first: `{seq, path, at_ms, status, …}`."""
        family = "payment_intents" if source.startswith("pi_") else "sources"
        listed = self._call("GET", f"/_sandbox/requests?path=/v1/{family}/{source}")
        return [request for request in listed["data"] if request["method"] == "GET"]

    def history(self) -> dict[str, list[dict]]:
        """Returns each object's status changes, oldest first: `{source, previous, status, at_ms}`.

        Each call reads the changes since the last one. The sandbox keeps the last million changes, so a test that
        makes more must call in time.
        """
        while True:
            page = self._call("GET", f"/_sandbox/history?since={self._since}&limit=50000")
            for change in page["data"]:
                assert change["seq"] == self._since + 1, "the sandbox has forgotten changes"
                self._since += 1
                self._happened.setdefault(change["source"], []).append(change)
            if not page["has_more"]:
                return self._happened
