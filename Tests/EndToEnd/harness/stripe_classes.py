"""Checks objects against Stripe's Python classes, for types that the schemas of 2023 lack or cover too little.

The client is generated from the specification of its own version (`stripe.api_version`). So its classes define the
current fields of an object and the fields that are always present.
"""

import types
import typing

import stripe
from stripe._stripe_object import StripeObject

JUDGES = {"payment_method": stripe.PaymentMethod, "customer": stripe.Customer, "card": stripe.Card}
# The message for an unknown field. Deleted objects are not checked, because their fields belong to another class.
UNKNOWN = "{place}: no field {name} in {judge}"


def mistakes(body: dict) -> list[str]:
    """Returns the errors in an object; empty if no class describes it."""
    judge = JUDGES.get(body.get("object"))
    return [] if judge is None or body.get("deleted") else list(_mistakes(judge, body, body["object"]))


def _mistakes(judge, body: dict, place: str):
    fields = {}
    for base in reversed(judge.__mro__):
        fields |= {
            name: hint for name, hint in vars(base).get("__annotations__", {}).items()
            if issubclass(base, StripeObject) and base is not StripeObject and typing.get_origin(hint) is not typing.ClassVar
        }
    for name, value in body.items():
        if name not in fields:
            yield UNKNOWN.format(place=place, name=name, judge=judge.__qualname__)
        elif value is None and not _may_be_none(fields[name]):
            yield f"{place}.{name} is null"
        elif isinstance(value, dict) and (inner := _class(fields[name])) is not None:
            yield from _mistakes(inner, value, f"{place}.{name}")
    yield from (
        f"{place}: {name} is missing" for name, hint in fields.items() if name not in body and not _may_be_none(hint)
    )


def _may_be_none(hint) -> bool:
    return hint is type(None) or any(_may_be_none(part) for part in _parts(hint))


def _parts(hint) -> tuple:
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else ()


def _class(hint):
    """Returns the class of a field that holds a nested object, or `None`.

    An expandable ID refers to another object, which is checked by its own `object` field.
    """
    if isinstance(hint, type) and issubclass(hint, StripeObject) and "__annotations__" in vars(hint):
        return hint
    found = [inner for part in _parts(hint) if (inner := _class(part)) is not None]
    return found[0] if len(found) == 1 else None
