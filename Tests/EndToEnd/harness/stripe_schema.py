"""Validates every object that the sandbox returns against Stripe's OpenAPI schemas.

The files are excerpts of https://github.com/stripe/openapi (MIT licence), version 2023-08-16: each object with the
schemas it references, without descriptions.
"""

import json
from pathlib import Path

import jsonschema

from harness import stripe_classes

SCHEMAS = Path(__file__).resolve().parents[1] / "fixtures" / "stripe-openapi"

# Fields of newer API versions that the specification of 2023-08-16 lacks.
NEWER_FIELDS = {
    "source": {"allow_redisplay", "sepa_credit_transfer"},
    "charge": {"source", "presentment_details"},
    "payment_intent": {"source", "presentment_details"},
    "refund": {"pending_reason", "presentment_details"},
    "billing_details": {"tax_id"},
    "payment_method_details": {"sepa_credit_transfer", "card_present"},
    "source_type_wechat": {"ios_native_url"},
    "payment_method_details_card": {"capture_before", "multicapture"},
}
NEWER_TYPES = ["sepa_credit_transfer"]
OBJECTS = [
    "source",
    "charge",
    "payment_intent",
    "setup_intent",
    "event",
    "webhook_endpoint",
    "source_transaction",
    "source_mandate_notification",
    "refund",
    "dispute",
    "error",
]


class StripeSchemas:
    """Validates objects by their `object` field; a field that is not in the specification is an error too."""

    def __init__(self):
        self.seen: dict[str, int] = {}
        schemas: dict[str, dict] = {}
        for name in OBJECTS:
            for key, schema in json.loads((SCHEMAS / f"{name}.json").read_text())["schemas"].items():
                schemas.setdefault(key, schema)
        translated = {name: _translate(schema, name, set(schemas)) for name, schema in schemas.items()}
        for name in ("source", "source_transaction"):
            translated[name]["properties"]["type"]["enum"] += NEWER_TYPES
        # Since 2025-03-31.basil, an expired authorisation has a separate cancellation reason.
        _, reason = translated["payment_intent"]["properties"]["cancellation_reason"]["anyOf"]
        reason["enum"].append("expired")
        definitions = {"$defs": translated}
        self._validators = {
            name: jsonschema.Draft202012Validator(definitions | {"$ref": f"#/$defs/{name}"}) for name in OBJECTS
        }

    def check(self, body: dict) -> None:
        """Validates a response: an object, a list, a search result, an event with its object, or an error."""
        if "error" in body:
            return self._validate("error", body)
        kind = body.get("object")
        if kind == "list":
            for item in body["data"]:
                self.check(item)
            assert set(body) == {"object", "data", "has_more", "url"}
        elif kind == "search_result":
            for item in body["data"]:
                self.check(item)
            assert set(body) - {"total_count"} == {"object", "data", "has_more", "next_page", "url"}
        elif kind in stripe_classes.JUDGES:
            self.seen[kind] = self.seen.get(kind, 0) + 1
            wrong = stripe_classes.mistakes(body)
            assert not wrong, f"{kind} {body.get('id')}: {wrong}"
        elif kind in self._validators and not body.get("deleted"):
            self._validate(kind, body)
            if kind == "event":
                self.check(body["data"]["object"])

    def _validate(self, kind: str, body: dict) -> None:
        self.seen[kind] = self.seen.get(kind, 0) + 1
        errors = [f"{error.json_path}: {error.message[:300]}" for error in self._validators[kind].iter_errors(body)]
        assert not errors, f"{kind} {body.get('id')}: {errors}"


def _translate(schema, name: str, known: set[str]):
    """Converts an OpenAPI 3.0 schema to JSON Schema: `nullable`, references, and no unknown fields."""
    if isinstance(schema, list):
        return [_translate(item, "", known) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        target = schema["$ref"].rsplit("/", 1)[-1]
        # The files are pruned. A schema that they omit accepts any value.
        return {"$ref": f"#/$defs/{target}"} if target in known else {}
    translated = {
        key: {field: _translate(inner, "", known) for field, inner in value.items()}
        if key == "properties"
        else _translate(value, "", known)
        for key, value in schema.items()
        if key not in ("nullable", "format", "expansionResources")
    }
    if "properties" in translated and "additionalProperties" not in translated:
        translated["additionalProperties"] = False
        for field in NEWER_FIELDS.get(name, ()):
            translated["properties"].setdefault(field, {})
    if schema.get("nullable"):
        return {"anyOf": [{"type": "null"}, translated]}
    return translated
