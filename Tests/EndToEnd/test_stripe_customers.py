"""Tests customers, their saved cards and sources, and Stripe's test tokens, with Stripe's official client."""

import pytest
import stripe

from harness.stripe_lab import StripeLab

ADDRESS = {"line1": "1 Main St", "line2": None, "postal_code": "94102", "city": "San Francisco", "country": "US", "state": "CA"}
SUM = {"amount": 1099, "currency": "usd"}


@pytest.fixture(scope="module")
def lab():
    with StripeLab() as lab:
        yield lab


def test_customer_data_is_stored(lab):
    given = {
        "name": "Jenny", "email": "jenny@example.com", "phone": "+15555550100", "description": "A", "address": ADDRESS,
        "shipping": {"name": "Jenny", "address": ADDRESS}, "preferred_locales": ["de", "en"], "metadata": {"a": "b"},
    }
    given["address"] = {name: text for name, text in ADDRESS.items() if text}
    made = lab.v1.customers.create(given)
    again = lab.v1.customers.retrieve(made.id)
    assert again.address.to_dict() == ADDRESS and again.preferred_locales == ["de", "en"]
    assert (again.phone, again.shipping.name, again.metadata.to_dict()) == ("+15555550100", "Jenny", {"a": "b"})
    changed = lab.v1.customers.update(made.id, {"address": {"city": "Oakland"}, "phone": "", "name": "J"})
    assert (changed.address.city, changed.address.state, changed.phone) == ("Oakland", "CA", None)
    event = next(e for e in lab.v1.events.list({"type": "customer.updated"}).data if e.data.object.id == made.id)
    assert event.data.previous_attributes.name == "Jenny" and event.data.previous_attributes.address.city == "San Francisco"
    assert [one.id for one in lab.v1.customers.list({"email": "jenny@example.com"}).data] == [made.id]
    with pytest.raises(stripe.InvalidRequestError) as refused:
        lab.v1.customers.create({"invoice_settings": {"footer": "x"}})
    assert refused.value.param == "invoice_settings[footer]"


def test_a_token_is_charged_as_a_card(lab):
    charge = lab.v1.charges.create(SUM | {"source": "tok_visa", "metadata": {"order": "6"}})
    assert (charge.status, charge.source.object, charge.source.last4) == ("succeeded", "card", "4242")
    assert charge.payment_method == charge.source.id and charge.source.id.startswith("card_")
    assert charge.payment_method_details.card.brand == "visa"
    amex = lab.v1.charges.create(SUM | {"source": "tok_amex"})
    assert (amex.source.brand, amex.payment_method_details.card.brand) == ("American Express", "amex")
    assert lab.v1.charges.create(SUM | {"source": "tok_de"}).source.country == "DE"
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.sources.retrieve(charge.source.id)


@pytest.mark.parametrize("token, code, decline", [
    ("tok_chargeDeclined", "card_declined", "generic_decline"),
    ("tok_visa_chargeDeclinedInsufficientFunds", "card_declined", "insufficient_funds"),
    ("tok_chargeDeclinedExpiredCard", "expired_card", None), ("tok_chargeDeclinedIncorrectCvc", "incorrect_cvc", None),
    ("tok_chargeDeclinedProcessingError", "processing_error", None), ("tok_radarBlock", "card_declined", "fraudulent"),
])
def test_tokens_of_declined_cards_are_declined(lab, token, code, decline):
    with pytest.raises(stripe.CardError) as declined:
        lab.v1.charges.create(SUM | {"source": token})
    error = declined.value.error
    assert (error.code, getattr(error, "decline_code", None)) == (code, decline)
    assert lab.v1.charges.retrieve(error.charge).status == "failed"
    with pytest.raises(stripe.CardError):
        lab.v1.customers.create({"source": token})


def test_an_unknown_token_is_rejected(lab):
    for wrong in ("tok_nobody", "tok_", "card_none"):
        with pytest.raises(stripe.InvalidRequestError) as refused:
            lab.v1.charges.create(SUM | {"source": wrong})
        assert (refused.value.code, refused.value.param) == ("resource_missing", "source")
    before = len(lab.v1.customers.list({"limit": 100}).data)
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.customers.create({"source": "tok_nobody"})
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.customers.create({"payment_method": "pm_card_nobody"})
    assert len(lab.v1.customers.list({"limit": 100}).data) == before


def test_test_tokens_cause_a_dispute_and_a_failed_refund(lab):
    charge = lab.v1.charges.create(SUM | {"source": "tok_createDispute"})
    lab.advance(2)
    assert lab.v1.charges.retrieve(charge.id).disputed
    fails = lab.v1.charges.create(SUM | {"source": "tok_refundFail"})
    refund = lab.v1.refunds.create({"charge": fails.id})
    lab.advance(5)
    assert lab.again(refund).status == "failed"


def test_a_customers_sources_are_expanded_listed_and_deleted(lab):
    customer = lab.v1.customers.create({"source": "tok_visa"})
    first = customer.default_source
    assert first.startswith("card_") and "sources" not in customer
    source = lab.v1.sources.create({"type": "card"})
    lab.v1.customers.payment_sources.create(customer.id, {"source": source.id})
    second = lab.v1.customers.payment_sources.create(customer.id, {"source": "tok_mastercard", "metadata": {"a": "b"}})
    assert (second.object, second.brand, second.customer) == ("card", "MasterCard", customer.id)
    shown = lab.v1.customers.retrieve(customer.id, {"expand": ["sources", "default_source"]})
    assert [one.id for one in shown.sources.data] == [second.id, source.id, first]
    assert (shown.default_source.id, shown.sources.total_count) == (first, 3)
    listed = lab.v1.customers.payment_sources
    assert [one.id for one in listed.list(customer.id, {"object": "card"}).data] == [second.id, first]
    assert [one.id for one in listed.list(customer.id, {"object": "source"}).data] == [source.id]
    changed = listed.update(customer.id, second.id, {"exp_year": 2039, "name": "J", "address_zip": "94102"})
    assert (changed.exp_year, changed.name, changed.address_zip_check) == (2039, "J", "pass")
    paid = lab.v1.charges.create(SUM | {"customer": customer.id})
    assert (paid.source.id, paid.customer) == (first, customer.id)
    assert lab.v1.charges.create(SUM | {"customer": customer.id, "source": second.id}).source.id == second.id
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.charges.create(SUM | {"source": second.id})
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.charges.create(SUM | {"customer": customer.id, "source": "tok_visa"})
    gone = listed.delete(customer.id, first)
    assert gone.deleted and lab.v1.customers.retrieve(customer.id).default_source == source.id
    types = {event.type for event in lab.v1.events.list({"limit": 100}).data}
    assert {"customer.source.created", "customer.source.updated", "customer.source.deleted"} <= types


def test_deleting_a_customer_detaches_everything(lab):
    customer = lab.v1.customers.create({"source": "tok_visa", "payment_method": "pm_card_visa"})
    method = lab.v1.customers.payment_methods.list(customer.id).data[0]
    lab.v1.customers.delete(customer.id)
    assert lab.v1.payment_methods.retrieve(method.id).customer is None
    for call in (
        lambda: lab.v1.customers.payment_sources.list(customer.id), lambda: lab.v1.customers.payment_methods.list(customer.id),
        lambda: lab.v1.charges.create(SUM | {"customer": customer.id}),
        lambda: lab.v1.payment_intents.create(SUM | {"customer": customer.id}),
    ):
        with pytest.raises(stripe.InvalidRequestError) as refused:
            call()
        assert refused.value.code == "resource_missing"


def test_a_source_created_from_a_token_is_its_card(lab):
    made = lab.v1.sources.create({"type": "card", "token": "tok_mastercard"})
    assert (made.object, made.card.brand, made.card.last4) == ("source", "MasterCard", "4444")
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.sources.create({"type": "card", "token": "tok_nobody"})


def test_a_key_lists_only_events_of_its_own_account(lab):
    lab.control("keys", {"key": "sk_test_other", "account": "acct_other"})
    other = lab.client_for("sk_test_other").v1
    mine = lab.v1.customers.create({"name": "mine"})
    theirs = other.customers.create({"name": "theirs"})
    kept = other.payment_methods.attach("pm_card_visa", {"customer": theirs.id})
    seen = {event.data.object.id for event in other.events.list({"limit": 100}).data}
    assert seen == {theirs.id, kept.id}
    ours = {event.data.object.id for event in lab.v1.events.list({"limit": 100}).data}
    assert mine.id in ours and not ours & seen
    event = other.events.list({"limit": 1}).data[0]
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.events.retrieve(event.id)
    assert lab.v1.events.retrieve(event.id, None, {"stripe_account": "acct_other"}).id == event.id
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.customers.retrieve(theirs.id)
