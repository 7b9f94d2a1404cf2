"""Tests the API description against code generators' requirements: tags, names, examples and shapes they can type."""

import jsonschema
import pytest
import requests
from harness.cluster import Cluster

METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture
def description(calm: Cluster) -> dict:
    return calm.api.get("/openapi.json")


def operations(description: dict):
    for path, methods in description["paths"].items():
        for method in methods.keys() & METHODS:
            yield path, methods[method]


def schemas_in(node, path="") -> list[tuple[str, dict]]:
    """Returns every object of a document with its path."""
    found = [(path, node)] if isinstance(node, dict) else []
    members = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, member in members:
        if name not in ("example", "examples", "default"):
            found += schemas_in(member, f"{path}/{name}")
    return found


def bodies(description: dict):
    """Yields the JSON request bodies with their operation's name."""
    for _, operation in operations(description):
        media = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if media:
            yield operation["operationId"], media


def resolved(description: dict, schema: dict) -> dict:
    name = schema.get("$ref", "").removeprefix("#/components/schemas/")
    return description["components"]["schemas"][name] if name else schema


def test_every_operation_has_one_described_tag(description: dict):
    described = {tag["name"] for tag in description["tags"]}
    used = [operation["tags"] for _, operation in operations(description)]
    assert all(len(tags) == 1 for tags in used)
    assert {tags[0] for tags in used} == described
    assert {"watches", "orders", "events", "endpoints", "deliveries"} <= described
    assert all(tag["description"] for tag in description["tags"])


def test_pages_for_people_are_left_out(calm: Cluster, description: dict):
    assert [path for path in description["paths"] if not path.startswith("/v1/")] == ["/openapi.json"]
    assert "ReturnUpdate" not in description["components"]["schemas"]
    whole = calm.api.get("/openapi.json?pages=true")
    assert {"/", "/r/{source}", "/openapi.json"} <= set(whole["paths"])


def test_no_request_body_is_a_union_that_generators_cannot_type(description: dict):
    untyped = []
    for name, media in bodies(description):
        schema = resolved(description, media["schema"])
        if schema.get("type") not in ("object", "array") or {"anyOf", "oneOf", "allOf"} & schema.keys():
            untyped.append(name)
    assert not untyped
    assert len(list(bodies(description))) > 10


def test_enumerations_are_named(description: dict):
    in_place = [
        path
        for name, schema in description["components"]["schemas"].items()
        for path, part in schemas_in(schema, name)
        if len(set(part.get("enum", [])) - {None}) > 1 and "/" in path
    ]
    # Two are defined inline: a process's roles in a list of strings, and `retry`, which is a word or a list.
    assert [path for path in in_place if not path.endswith("/retry/oneOf/0")] == ["Worker/properties/roles/items"]
    watch = description["components"]["schemas"]["Watch"]["properties"]
    assert watch["state"] == {"$ref": "#/components/schemas/WatchState"}
    assert description["components"]["schemas"]["WatchState"]["enum"] == ["open", "closed"]


def test_no_parameter_name_contains_a_dot(description: dict):
    names = {each["name"] for _, operation in operations(description) for each in operation.get("parameters", [])}
    assert not [name for name in names if "." in name]


def test_the_server_is_the_requested_one(calm: Cluster, description: dict):
    assert description["servers"] == [{"url": calm.api.url}]
    port = calm.api.url.rsplit(":", 1)[1]
    other = requests.get(f"{calm.api.url}/openapi.json", headers={"Host": f"localhost:{port}"}, timeout=30).json()
    assert other["servers"] == [{"url": f"http://localhost:{port}"}]


def test_examples_match_their_schemas(description: dict):
    components = description["components"]
    checked, without = 0, []
    for _, operation in operations(description):
        name = operation["operationId"]
        parts = {"request": operation.get("requestBody", {}).get("content", {})}
        for status, answer in operation["responses"].items():
            parts[status] = answer.get("content", {})
        for part, content in parts.items():
            media = content.get("application/json")
            if not media or "$ref" not in media["schema"]:
                continue
            if "example" not in media:
                without.append((operation["tags"][0], name, part))
                continue
            schema = {**media["schema"], "components": components}
            jsonschema.Draft202012Validator(schema).validate(media["example"])
            checked += 1
    jsonschema.Draft202012Validator(
        {"$ref": "#/components/schemas/Problem", "components": components}
    ).validate(components["responses"]["Problem"]["content"]["application/problem+json"]["example"])
    assert checked > 40
    # Every request has an example, and so do the most used resources of shops and consoles.
    assert not [each for each in without if each[2] == "request"]
    common = {"orders", "endpoints", "deliveries", "keys"}
    missing = {name for tag, name, _ in without if tag in common}
    assert missing <= {"getCaller", "endpointSecret"}, missing
    assert not {"enqueue", "getWatch", "listWatches", "events", "watchEvents"} & {name for _, name, _ in without}
