"""Tests every time parameter of the API at the edges of the calendar: a result or a clear refusal, never a 500."""

import json
from collections.abc import Iterator

import pytest
from harness.cluster import Cluster

EDGES = [f"{year}-{day}T00:00:00.000Z" for year in ("0000", "0001", "1969", "1970", "9999") for day in ("01-01", "12-31")]
EDGES += ["-0001-01-01T00:00:00.000Z", "-001-01-01T00:00:00.000Z", "0000-03-01T00:00:00.000Z", "10000-01-01T00:00:00.000Z"]
# In the search language a time follows a field and a comparison.
SEARCHES = [f"{field}{sign}" for field in ("created", "closed") for sign in (":", ":>", ":<", ":>=", ":<=", ">", "<")]


def takes_time(schema: dict) -> bool:
    """Returns whether a schema is the API's time, or a string that may be one."""
    if schema.get("$ref", "").endswith("/Time"):
        return True
    if "T[0-9]{2}:" in schema.get("pattern", ""):
        return True
    return any(takes_time(part) for key in ("anyOf", "oneOf", "allOf") for part in schema.get(key, []))


def time_fields(description: dict, schema: dict) -> Iterator[str]:
    """Yields the names of a body's fields that accept a time."""
    if "$ref" in schema:
        schema = description["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    for name, field in schema.get("properties", {}).items():
        if takes_time(field):
            yield name


@pytest.fixture
def known(calm: Cluster) -> dict[str, str]:
    """Returns IDs of existing objects for path parameters."""
    endpoint = calm.api.request("POST", "/v1/endpoints", json={"url": "http://127.0.0.1:9/"})
    assert endpoint.ok, endpoint.text
    return {"id": endpoint.json()["id"], "endpoint": endpoint.json()["id"]}


def test_times_at_the_edge_of_the_calendar_cause_no_server_error(calm: Cluster, known: dict[str, str]):
    description = calm.api.get("/openapi.json")
    asked = set()
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            if not isinstance(operation, dict) or "responses" not in operation:
                continue
            target = path
            for name, value in known.items():
                target = target.replace("{" + name + "}", value)
            name = operation["operationId"]
            for parameter in operation.get("parameters", []):
                if parameter["in"] != "query":
                    continue
                if takes_time(parameter["schema"]):
                    asked.add((name, parameter["name"]))
                    for edge in EDGES:
                        check(calm, method, target, params={parameter["name"]: edge})
                if parameter["name"] == "q":
                    asked.add((name, "q"))
                    for edge in EDGES:
                        for search in SEARCHES:
                            check(calm, method, target, params={"q": search + edge})
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            for field in time_fields(description, content["schema"]) if content else ():
                asked.add((name, field))
                for edge in EDGES:
                    check(calm, method, target, json={field: edge, "dry_run": True})
    # Guards against a changed description in which this test finds no time parameter.
    assert {("listChanges", "since"), ("listChanges", "until"), ("events", "from")} <= asked, asked
    assert calm.api_process.admin("/readyz").status_code == 200


def check(cluster: Cluster, method: str, target: str, **request) -> None:
    response = cluster.api.request(method.upper(), target, **request)
    assert response.status_code < 500, f"{method} {target} {json.dumps(request)}: {response.text}"
    if response.status_code >= 400:
        assert response.json()["detail"], response.text
