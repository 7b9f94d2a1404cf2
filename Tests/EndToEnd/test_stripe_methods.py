"""Tests PaymentMethods and their creation from cards and Sources, with Stripe's official client."""

import pytest
import stripe

from harness.stripe_lab import RETURN_URL, StripeLab

ADDRESS = {"line1": "Hauptstraße 1", "line2": "c/o B", "postal_code": "10115", "city": "Berlin", "country": "DE", "state": "BE"}
BILLING = {"name": "Zoë", "email": "zoe@example.com", "phone": "+49301234", "address": ADDRESS}
VISA = {"type": "card", "card": {"number": "4242424242424242", "exp_month": 8, "exp_year": 2031, "cvc": "123"}}
SUM = {"amount": 1099, "currency": "eur"}


@pytest.fixture(scope="module")
def lab():
    with StripeLab(webhook=True) as lab:
        yield lab


def kept(lab, token: str = "tok_visa", **more):
    """Returns a customer and their saved card."""
    customer = lab.v1.customers.create({"email": "a@example.com"})
    method = lab.v1.payment_methods.create({"type": "card", "card": {"token": token}} | more)
    return customer, lab.v1.payment_methods.attach(method.id, {"customer": customer.id})


def ids(page) -> list[str]:
    return [one.id for one in page.data]


def test_given_fields_are_stored(lab):
    made = lab.v1.payment_methods.create(
        VISA | {"billing_details": BILLING, "metadata": {"order": "6"}, "allow_redisplay": "always"}
    )
    again = lab.v1.payment_methods.retrieve(made.id)
    assert again.billing_details.to_dict() == BILLING | {"tax_id": None}
    assert (again.metadata.to_dict(), again.customer, again.allow_redisplay) == ({"order": "6"}, None, "always")
    card = again.card
    assert (card.brand, card.last4, card.exp_month, card.exp_year, card.funding) == ("visa", "4242", 8, 2031, "credit")
    assert card.checks.cvc_check == "unchecked" and card.networks.available == ["visa"]
    other = lab.v1.payment_methods.create(VISA)
    assert other.id != made.id and other.card.fingerprint == card.fingerprint


def test_each_type_has_its_own_hash(lab):
    debit = lab.v1.payment_methods.create(
        {"type": "sepa_debit", "sepa_debit": {"iban": "DE89 3704 0044 0532 0130 00"}, "billing_details": BILLING}
    ).sepa_debit
    assert (debit.last4, debit.country, debit.bank_code) == ("3000", "DE", "37040044")
    bank = lab.v1.payment_methods.create(
        {"type": "us_bank_account", "us_bank_account": {
            "account_number": "000123456789", "routing_number": "110000000", "account_holder_type": "company"}}
    ).us_bank_account
    assert (bank.last4, bank.account_holder_type, bank.account_type) == ("6789", "company", "checking")
    assert lab.v1.payment_methods.create({"type": "ideal", "ideal": {"bank": "ing"}}).ideal.bank == "ing"
    for type in ("alipay", "bancontact", "klarna", "paypal", "link", "twint", "cashapp", "customer_balance", "wechat_pay"):
        assert lab.v1.payment_methods.create({"type": type}).type == type


@pytest.mark.parametrize("params, name", [
    ({"colour": "red"}, "colour"), ({"billing_details": {"nick": "Z"}}, "billing_details[nick]"),
    ({"billing_details": {"address": {"zip": "1"}}}, "billing_details[address][zip]"),
    ({"card": {"pin": "1"}}, "card[pin]"), ({"sepa_debit": {"iban": "DE1"}}, "sepa_debit"),
])
def test_an_unknown_parameter_is_rejected_with_its_full_name(lab, params, name):
    with pytest.raises(stripe.InvalidRequestError) as refused:
        lab.v1.payment_methods.create({"type": "card"} | params)
    assert (refused.value.code, refused.value.param) == ("parameter_unknown", name)
    with pytest.raises(stripe.InvalidRequestError) as refused:
        lab.v1.payment_intents.create(SUM | {"payment_method_data": {"type": "card", "nick": "Z"}})
    assert refused.value.param == "payment_method_data[nick]"
    for confirmed in (lab.v1.payment_intents, lab.v1.setup_intents):
        made = confirmed.create(SUM if confirmed is lab.v1.payment_intents else {})
        with pytest.raises(stripe.InvalidRequestError) as refused:
            confirmed.confirm(made.id, {"payment_method": "pm_card_visa", "colour": "red"})
        assert refused.value.param == "colour"
        with pytest.raises(stripe.InvalidRequestError) as refused:
            confirmed.list({"colour": "red"})
        assert refused.value.param == "colour"


def test_attach_list_update_and_detach(lab):
    customer, method = kept(lab, billing_details=BILLING)
    assert (method.customer, method.card.checks.cvc_check) == (customer.id, "pass")
    lab.hook.take("payment_method.attached", method.id)
    other = lab.v1.payment_methods.attach("pm_card_mastercard", {"customer": customer.id})
    assert other.id != "pm_card_mastercard" and other.card.brand == "mastercard"
    bank = lab.v1.payment_methods.attach("pm_usBankAccount_success", {"customer": customer.id})
    listed = lab.v1.payment_methods.list({"customer": customer.id, "type": "card"})
    assert ids(listed) == [other.id, method.id]
    assert ids(lab.v1.customers.payment_methods.list(customer.id)) == [bank.id, other.id, method.id]
    page = lab.v1.payment_methods.list({"customer": customer.id, "limit": 1})
    assert page.has_more and [one.id for one in page.auto_paging_iter()] == [bank.id, other.id, method.id]
    assert lab.v1.customers.payment_methods.retrieve(customer.id, method.id).id == method.id

    changed = lab.v1.payment_methods.update(method.id, {
        "metadata": {"a": "b"}, "card": {"exp_month": 3, "exp_year": 2040}, "billing_details": {"address": {"city": "Ulm"}},
    })
    assert (changed.card.exp_month, changed.card.exp_year, changed.metadata.to_dict()) == (3, 2040, {"a": "b"})
    assert changed.billing_details.address.to_dict() == ADDRESS | {"city": "Ulm"}
    body, header = lab.hook.take("payment_method.updated", method.id)
    before = stripe.Webhook.construct_event(body, header, "whsec_end_to_end").data.previous_attributes
    assert before.metadata.to_dict() == {} and before.card.exp_month == 12

    gone = lab.v1.payment_methods.detach(method.id)
    assert gone.customer is None
    lab.hook.take("payment_method.detached", method.id)
    assert ids(lab.v1.customers.payment_methods.list(customer.id, {"type": "card"})) == [other.id]
    with pytest.raises(stripe.InvalidRequestError, match="detachment is impossible"):
        lab.v1.payment_methods.detach(method.id)
    with pytest.raises(stripe.InvalidRequestError, match="may not be used again"):
        lab.v1.payment_methods.attach(method.id, {"customer": customer.id})
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.payment_methods.update(method.id, {"metadata": {"a": "c"}})


def test_a_method_that_cannot_be_saved_is_rejected(lab):
    customer, method = kept(lab)
    other = lab.v1.customers.create({})
    with pytest.raises(stripe.InvalidRequestError, match="already been attached"):
        lab.v1.payment_methods.attach(method.id, {"customer": other.id})
    ideal = lab.v1.payment_methods.create({"type": "ideal"})
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.payment_methods.attach(ideal.id, {"customer": other.id})
    with pytest.raises(stripe.CardError) as declined:
        lab.v1.payment_methods.attach("pm_card_visa_chargeDeclined", {"customer": other.id})
    assert declined.value.code == "card_declined"
    assert lab.v1.payment_methods.attach("pm_card_chargeCustomerFail", {"customer": other.id}).customer == other.id
    for wrong in ("pm_card_nobody", "pm_none", "src_none"):
        with pytest.raises(stripe.InvalidRequestError) as refused:
            lab.v1.payment_methods.attach(wrong, {"customer": other.id})
        assert refused.value.code == "resource_missing"
    with pytest.raises(stripe.InvalidRequestError) as refused:
        lab.v1.payment_methods.attach("pm_card_visa", {"customer": "cus_none"})
    assert (refused.value.code, refused.value.param) == ("resource_missing", "customer")


def test_a_saved_method_pays_only_with_its_customer(lab):
    customer, method = kept(lab)
    paid = lab.v1.payment_intents.create(
        SUM | {"customer": customer.id, "payment_method": method.id, "off_session": True, "confirm": True,
               "expand": ["payment_method", "latest_charge"]}
    )
    assert (paid.status, paid.payment_method.customer) == ("succeeded", customer.id)
    assert (paid.latest_charge.payment_method, paid.latest_charge.customer) == (method.id, customer.id)
    with pytest.raises(stripe.InvalidRequestError, match="belongs to the Customer"):
        lab.v1.payment_intents.create(SUM | {"payment_method": method.id, "confirm": True})
    stranger = lab.v1.customers.create({})
    with pytest.raises(stripe.InvalidRequestError, match="does not belong to the Customer"):
        lab.v1.payment_intents.create(SUM | {"customer": stranger.id, "payment_method": method.id})
    with pytest.raises(stripe.InvalidRequestError) as refused:
        lab.v1.payment_intents.create(SUM | {"customer": "cus_none"})
    assert refused.value.param == "customer"
    with pytest.raises(stripe.InvalidRequestError) as refused:
        lab.v1.payment_intents.create(SUM | {"customer": customer.id, "off_session": True})
    assert refused.value.param == "off_session"


def test_an_unsaved_method_pays_once(lab):
    method = lab.v1.payment_methods.create(VISA | {"billing_details": BILLING})
    paid = lab.v1.payment_intents.create(SUM | {"payment_method": method.id, "confirm": True, "expand": ["latest_charge"]})
    assert paid.latest_charge.billing_details.address.city == "Berlin"
    customer = lab.v1.customers.create({})
    for again in (SUM | {"payment_method": method.id}, SUM | {"payment_method": method.id, "customer": customer.id}):
        with pytest.raises(stripe.InvalidRequestError, match="may not be used again"):
            lab.v1.payment_intents.create(again)
    with pytest.raises(stripe.InvalidRequestError, match="may not be used again"):
        lab.v1.payment_methods.attach(method.id, {"customer": customer.id})


@pytest.mark.parametrize("usage", ["off_session", "on_session"])
def test_a_payment_saves_its_method_for_the_customer(lab, usage):
    customer = lab.v1.customers.create({})
    paid = lab.v1.payment_intents.create(
        SUM | {"customer": customer.id, "payment_method": "pm_card_visa", "setup_future_usage": usage, "confirm": True}
    )
    assert ids(lab.v1.customers.payment_methods.list(customer.id)) == [paid.payment_method]
    again = lab.v1.payment_intents.create(
        SUM | {"customer": customer.id, "payment_method": paid.payment_method, "confirm": True}
    )
    assert again.status == "succeeded"


def test_a_setup_saves_its_method_for_off_session_charges(lab):
    customer = lab.v1.customers.create({})
    setup = lab.v1.setup_intents.create(
        {"customer": customer.id, "payment_method": "pm_card_authenticationRequiredOnSetup", "confirm": True,
         "return_url": RETURN_URL}
    )
    assert setup.status == "requires_action" and not ids(lab.v1.customers.payment_methods.list(customer.id))
    lab.press(setup, "authorize")
    done = lab.v1.setup_intents.retrieve(setup.id, {"expand": ["payment_method"]})
    assert (done.status, done.payment_method.customer) == ("succeeded", customer.id)
    lab.hook.take("payment_method.attached", done.payment_method.id)
    later = SUM | {"customer": customer.id, "payment_method": done.payment_method.id, "confirm": True}
    assert lab.v1.payment_intents.create(later | {"off_session": True}).status == "succeeded"
    # On-session, the customer has to authenticate again.
    assert lab.v1.payment_intents.create(later | {"return_url": RETURN_URL}).status == "requires_action"


def test_a_card_that_always_requires_authentication_is_declined_off_session(lab):
    customer, method = kept(lab, "tok_authenticationRequired")
    with pytest.raises(stripe.CardError) as declined:
        lab.v1.payment_intents.create(
            SUM | {"customer": customer.id, "payment_method": method.id, "off_session": True, "confirm": True}
        )
    assert declined.value.code == "authentication_required"
    assert declined.value.error.payment_method["id"] == method.id
    after = lab.v1.payment_intents.retrieve(declined.value.error.payment_intent["id"])
    # No request was sent to the bank.
    assert (after.status, after.latest_charge) == ("requires_payment_method", None)
    assert after.last_payment_error.payment_method.customer == customer.id
    ready = lab.v1.payment_methods.attach("pm_card_authenticationRequiredSetupForOffSession", {"customer": customer.id})
    paid = lab.v1.payment_intents.create(
        SUM | {"customer": customer.id, "payment_method": ready.id, "off_session": True, "confirm": True}
    )
    assert paid.status == "succeeded"


def test_an_intent_without_a_method_uses_the_default_of_its_customer(lab):
    customer, method = kept(lab)
    with pytest.raises(stripe.InvalidRequestError) as refused:
        lab.v1.payment_intents.create(SUM | {"customer": customer.id, "confirm": True})
    assert refused.value.code == "payment_intent_unexpected_state"
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.customers.update(customer.id, {"invoice_settings": {"default_payment_method": "pm_card_visa"}})
    changed = lab.v1.customers.update(customer.id, {
        "invoice_settings": {"default_payment_method": method.id},
        "expand": ["invoice_settings.default_payment_method"],
    })
    assert changed.invoice_settings.default_payment_method.id == method.id
    paid = lab.v1.payment_intents.create(SUM | {"customer": customer.id, "confirm": True})
    assert (paid.status, paid.payment_method) == ("succeeded", method.id)
    lab.v1.payment_methods.detach(method.id)
    assert lab.v1.customers.retrieve(customer.id).invoice_settings.default_payment_method is None


def test_a_platforms_method_is_cloned_for_a_connected_account(lab):
    customer, method = kept(lab)
    there = {"stripe_account": "acct_7"}
    copy = lab.v1.payment_methods.create({"customer": customer.id, "payment_method": method.id}, there)
    assert copy.id != method.id and copy.card.fingerprint == method.card.fingerprint
    paid = lab.v1.payment_intents.create(SUM | {"payment_method": copy.id, "confirm": True}, there)
    assert paid.status == "succeeded"
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.payment_methods.retrieve(copy.id)


def test_saved_sources_move_to_payment_intents(lab):
    """Runs the guide's migration: saved cards and sources are listed, charged and detached by the new API."""
    customer = lab.v1.customers.create({"email": "old@example.com"})
    source = lab.v1.sources.create({"type": "card", "owner": {"name": "Zoë", "address": ADDRESS}, "metadata": {"a": "b"}})
    lab.v1.customers.payment_sources.create(customer.id, {"source": source.id})
    card = lab.v1.customers.payment_sources.create(customer.id, {"source": "tok_visa"})
    listed = lab.v1.payment_methods.list({"customer": customer.id, "type": "card"})
    assert set(ids(listed)) == {source.id, card.id}
    seen = lab.v1.payment_methods.retrieve(source.id)
    assert (seen.object, seen.customer, seen.billing_details.address.city) == ("payment_method", customer.id, "Berlin")
    assert seen.metadata.to_dict() == {"a": "b"}
    for old in (source.id, card.id):
        paid = lab.v1.payment_intents.create(
            SUM | {"customer": customer.id, "payment_method": old, "off_session": True, "confirm": True}
        )
        assert (paid.status, paid.payment_method) == ("succeeded", old)
    new = lab.v1.payment_methods.attach("pm_card_visa", {"customer": customer.id})
    lab.v1.payment_methods.detach(source.id)
    assert lab.again(source).status == "consumed"
    assert set(ids(lab.v1.payment_methods.list({"customer": customer.id}))) == {card.id, new.id}
