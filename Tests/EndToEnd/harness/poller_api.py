"""An HTTP client of the API that shares no code with the product."""

import requests


class PollerAPI:
    """A thin client, so that tests check responses unchanged."""

    def __init__(self, url: str, key: str | None = None):
        self.url = url
        self.http = requests.Session()
        self.http.trust_env = False
        if key:
            self.http.headers["Authorization"] = f"Bearer {key}"

    def request(self, method: str, path: str, **options) -> requests.Response:
        options.setdefault("timeout", 60)
        return self.http.request(method, self.url + path, **options)

    def get(self, path: str) -> dict:
        response = self.request("GET", path)
        assert response.ok, f"GET {path}: {response.status_code} {response.text[:500]}"
        return response.json()

    def enqueue(self, source: str, **fields) -> requests.Response:
        return self.request("POST", "/v1/watches", json={"source": source} | fields)

    def watch(self, source: str) -> dict:
        return self.get(f"/v1/watches/{source}")

    def events(self, source: str) -> list[dict]:
        """Returns all recorded events of a source, oldest first."""
        found: list[dict] = []
        while True:
            after = found[-1]["seq"] if found else 0
            page = self.get(f"/v1/watches/{source}/events?after_seq={after}")
            found += page["data"]
            if not page["has_more"]:
                return found

    def watches(self, most: int = 10_000) -> list[dict]:
        """Returns every watch; fails instead of following cursors endlessly."""
        found: list[dict] = []
        path = "/v1/watches?limit=500"
        while len(found) < most:
            page = self.get(path)
            found += page["data"]
            if not page["has_more"]:
                return found
            path = f"/v1/watches?limit=500&cursor={page['next']}"
        raise AssertionError(f"more than {most} watches")
