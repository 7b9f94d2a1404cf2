"""Tests each source type with Stripe's official client: create, act, poll, charge, refund and expire.

Each response is checked against Stripe's OpenAPI schemas (see harness/stripe_lab.py).
"""

import pytest
import stripe

from harness.stripe_lab import DAY, HOUR, RETURN_URL, StripeLab, eventually


@pytest.fixture(scope="module")
def lab():
    with StripeLab() as lab:
        yield lab


REDIRECTS = ["bancontact", "giropay", "ideal", "sofort", "p24", "eps", "alipay", "klarna"]


@pytest.mark.parametrize("type", REDIRECTS)
def test_redirect_source_is_authorised_charged_and_refunded(lab, type):
    source = lab.source(type)
    assert (source.flow, source.status, source.usage) == ("redirect", "pending", "single_use")
    with pytest.raises(stripe.InvalidRequestError) as early:
        lab.charge(source)
    assert early.value.code == "payment_method_unexpected_state"
    page = lab.http.get(source.redirect.url, timeout=30)
    assert "Authorise test payment" in page.text
    back = lab.press(source, "authorize")
    assert back["source"] == [source.id] and back["client_secret"] == [source.client_secret]
    assert back["livemode"] == ["false"] and back["order"] == ["6"]
    chargeable = lab.again(source)
    assert (chargeable.status, chargeable.redirect.status) == ("chargeable", "succeeded")
    charge = lab.charge(source)
    assert lab.again(source).status == "consumed"
    if type == "sofort":
        assert charge.status == "pending" and not charge.paid
        charge = lab.until(charge, "succeeded")
    assert charge.paid and charge.amount_captured == 1099
    refund = lab.v1.refunds.create({"charge": charge.id, "amount": 99})
    assert refund.status == "succeeded"
    refunded = lab.again(charge)
    assert refunded.amount_refunded == 99 and not refunded.refunded
    lab.v1.refunds.create({"charge": charge.id})
    assert lab.again(charge).refunded
    with pytest.raises(stripe.InvalidRequestError) as twice:
        lab.v1.refunds.create({"charge": charge.id})
    assert twice.value.code == "charge_already_refunded"
    assert lab.events(source) == ["source.chargeable"]


@pytest.mark.parametrize("reason", ["user_abort", "declined", "processing_error"])
def test_a_declined_redirect_has_a_reason(lab, reason):
    source = lab.source()
    assert lab.press(source, "fail", reason=reason)["redirect_status"] == ["failed"]
    failed = lab.again(source)
    assert failed.status == "failed"
    assert (failed.redirect.status, failed.redirect.failure_reason) == ("failed", reason)
    with pytest.raises(stripe.InvalidRequestError):
        lab.charge(source)
    assert lab.events(source) == ["source.failed"]


@pytest.mark.parametrize("type", REDIRECTS)
def test_redirect_source_expires_after_an_hour_unused_and_six_uncharged(lab, type):
    source = lab.source(type)
    lab.advance(HOUR - 60)
    assert lab.again(source).status == "pending"
    lab.advance(61)
    canceled = lab.again(source)
    assert canceled.status == "canceled" and canceled.redirect.status == "failed"
    other = lab.source(type)
    lab.press(other, "authorize")
    lab.advance(6 * HOUR + 5)
    assert lab.again(other).status == "canceled"
    assert lab.events(other) == ["source.chargeable", "source.canceled"]


def test_wechat_shows_a_code(lab):
    source = lab.source("wechat", redirect=None, wechat={"appid": "wx1"})
    assert (source.flow, source.status) == ("none", "pending")
    assert "Authorise" in lab.http.get(source.wechat.qr_code_url, timeout=30).text
    lab.press(source, "authorize")
    assert lab.charge(source).paid
    unused = lab.source("wechat", redirect=None)
    lab.advance(HOUR + 1)
    assert lab.again(unused).status == "canceled"


def test_alipay_and_wechat_expire_at_the_end_of_the_chinese_day(lab):
    """A chargeable source ends at 23:45 in China or after six hours, whichever is first, at any time of day."""

    def until_closing() -> int:
        return (15 * HOUR + 45 * 60 - lab.control("clock", method="GET")["now_ms"] // 1000) % DAY

    if until_closing() < 180:
        lab.advance(180)
    source = lab.source("alipay")
    lab.press(source, "authorize")
    lab.advance(min(until_closing(), 6 * HOUR) - 60)
    assert lab.again(source).status == "chargeable"
    lab.advance(120)
    assert lab.again(source).status == "canceled"


def test_reusable_alipay_needs_no_amount(lab):
    source = lab.source("alipay", amount=None, usage="reusable")
    assert (source.usage, source.amount) == ("reusable", None)
    with pytest.raises(stripe.InvalidRequestError) as refused:
        lab.source("ideal", usage="reusable")
    assert refused.value.code == "invalid_source_usage"


def test_card_is_chargeable_at_once_and_saved_by_a_customer(lab):
    card = lab.v1.sources.create({"type": "card", "card": {"number": "4242 4242 4242 4242", "exp_year": 2030}})
    assert (card.status, card.flow, card.usage, card.card.last4) == ("chargeable", "none", "reusable", "4242")
    customer = lab.v1.customers.create({"email": "a@example.com", "source": card.id})
    assert customer.default_source == card.id
    for amount in (100, 200):
        charge = lab.v1.charges.create({"amount": amount, "currency": "usd", "customer": customer.id})
        assert charge.paid and charge.customer == customer.id
    assert lab.again(card).status == "chargeable"
    lab.advance(30 * DAY)
    assert lab.again(card).status == "chargeable"
    with pytest.raises(stripe.InvalidRequestError):
        lab.charge(card, currency="usd")
    detached = lab.v1.customers.payment_sources.delete(customer.id, card.id)
    assert detached.status == "consumed"


def test_reusable_source_charged_without_a_customer_is_used_up(lab):
    card = lab.v1.sources.create({"type": "card"})
    lab.charge(card, currency="usd")
    assert lab.again(card).status == "consumed"
    customer = lab.v1.customers.create({})
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.customers.payment_sources.create(customer.id, {"source": card.id})
    single = lab.source()
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.customers.payment_sources.create(customer.id, {"source": single.id})


@pytest.mark.parametrize(
    "number, code, decline",
    [
        ("4000000000000002", "card_declined", "generic_decline"),
        ("4000000000009995", "card_declined", "insufficient_funds"),
        ("4000000000009987", "card_declined", "lost_card"),
        ("4000000000000069", "expired_card", None),
        ("4000000000000127", "incorrect_cvc", None),
        ("4000000000000119", "processing_error", None),
    ],
)
def test_declined_cards(lab, number, code, decline):
    card = lab.v1.sources.create({"type": "card", "card": {"number": number}})
    with pytest.raises(stripe.CardError) as declined:
        lab.charge(card, currency="usd")
    error = declined.value.error
    assert (declined.value.http_status, error.code, getattr(error, "decline_code", None)) == (402, code, decline)
    failed = lab.v1.charges.retrieve(error.charge)
    assert (failed.status, failed.failure_code) == ("failed", code)
    assert lab.again(card).status == "chargeable"


def test_a_mistyped_card_is_rejected(lab):
    with pytest.raises(stripe.CardError) as refused:
        lab.v1.sources.create({"type": "card", "card": {"number": "4242424242424241"}})
    assert refused.value.code == "incorrect_number"


def test_three_d_secure_authenticates_only_if_the_card_requires_it(lab):
    for number, redirect, status in [
        ("4000000000003063", "pending", "pending"),
        ("4242424242424242", "not_required", "chargeable"),
    ]:
        card = lab.v1.sources.create({"type": "card", "card": {"number": number}})
        secure = lab.source("three_d_secure", three_d_secure={"card": card.id})
        assert (secure.redirect.status, secure.status) == (redirect, status)
        if status == "pending":
            lab.press(secure, "authorize")
        assert lab.charge(secure).paid


@pytest.mark.parametrize(
    "iban, outcome",
    [("DE89370400440532013000", "succeeded"), ("DE62370400440532013001", "failed")],
)
def test_sepa_debit_is_decided_days_later(lab, iban, outcome):
    source = lab.source("sepa_debit", amount=None, redirect=None, sepa_debit={"iban": iban})
    assert source.status == "chargeable" and source.sepa_debit.last4 == iban[-4:]
    customer = lab.v1.customers.create({"source": source.id})
    charge = lab.charge(source, customer=customer.id)
    assert charge.status == "pending"
    ended = lab.until(charge, outcome)
    assert ended.failure_code == (None if outcome == "succeeded" else "debit_not_authorized")
    assert lab.again(source).status == ("chargeable" if outcome == "succeeded" else "failed")


def test_a_debit_over_the_limit_is_rejected_and_can_be_retried(lab):
    source = lab.source("sepa_debit", amount=None, redirect=None, sepa_debit={"iban": "AT601904300000121212"})
    with pytest.raises(stripe.InvalidRequestError) as refused:
        lab.charge(source)
    assert refused.value.code == "charge_exceeds_source_limit"
    assert lab.again(source).status == "chargeable"


def test_a_manual_mandate_announces_each_debit(lab):
    source = lab.source("sepa_debit", amount=None, redirect=None, mandate={"notification_method": "manual"})
    lab.charge(source)
    event = lab.v1.events.list({"type": "source.mandate_notification", "limit": 1}).data[0]
    assert event.data.object.source.id == source.id
    revoked = lab.source("sepa_debit", amount=None, redirect=None)
    lab.v1.sources.update(revoked.id, {"mandate": {"acceptance": {"status": "revoked"}}})
    assert lab.again(revoked).status == "failed"


def test_test_mode_names_decide_automatically(lab):
    for email, status in [("a_chargeable@example.com", "chargeable"), ("a_failed@example.com", "failed")]:
        source = lab.source(owner={"email": email})
        assert source.status == "pending"
        lab.until(source, status)
    ended = {}
    for name, status in [("succeeding_charge", "succeeded"), ("failing_charge", "failed")]:
        sofort = lab.source("sofort", owner={"name": name})
        lab.press(sofort, "authorize")
        charge = lab.charge(sofort)
        assert charge.status == "pending"
        ended[status] = lab.until(charge, status)
    assert ended["failed"].failure_code == "payment_method_provider_decline"


@pytest.mark.parametrize(
    "type, change, code",
    [
        ("ideal", {"amount": None}, "parameter_missing"),
        ("ideal", {"currency": "usd"}, "invalid_currency"),
        ("ideal", {"redirect": None}, "parameter_missing"),
        ("sofort", {"amount": 99}, "invalid_amount"),
        ("sofort", {"sofort": {"country": "US"}}, "invalid_sofort_country"),
        ("giropay", {"owner": {"name": "ab"}}, "invalid_owner_name"),
        ("p24", {"owner": {"email": "nobody"}}, "invalid_owner_email"),
        ("sepa_debit", {"sepa_debit": {"iban": "nonsense"}}, "invalid_bank_account_iban"),
        ("ideal", {"owner": {"name": "processing_error"}}, "processing_error"),
        ("ideal", {"owner": {"name": "payment_method_not_available"}}, "payment_method_not_available"),
        ("ideal", {"colour": "red"}, "parameter_unknown"),
    ],
)
def test_creation_errors_have_their_codes(lab, type, change, code):
    with pytest.raises(stripe.InvalidRequestError) as refused:
        lab.source(type, **change)
    assert (refused.value.http_status, refused.value.code) == (400, code)


def test_a_reserved_amount_is_captured_in_part_or_expires(lab):
    card = lab.v1.sources.create({"type": "card"})
    charge = lab.charge(card, 1000, "usd", capture=False)
    assert not charge.captured and charge.status == "succeeded"
    captured = lab.v1.charges.capture(charge.id, {"amount": 700})
    assert (captured.captured, captured.amount_captured, captured.amount_refunded) == (True, 700, 0)
    with pytest.raises(stripe.InvalidRequestError) as twice:
        lab.v1.charges.capture(charge.id)
    assert twice.value.code == "charge_already_captured"
    late = lab.charge(lab.v1.sources.create({"type": "card"}), 1000, "usd", capture=False)
    lab.advance(7 * DAY + 1)
    expired = lab.again(late)
    assert (expired.captured, expired.refunded, expired.amount_refunded) == (False, False, 0)
    assert lab.events(late)[-1] == "charge.expired"
    with pytest.raises(stripe.InvalidRequestError) as refused:
        lab.v1.charges.capture(late.id)
    assert refused.value.code == "charge_expired_for_capture"


def test_compressed_time_lets_an_hour_pass_in_a_second():
    with StripeLab("--time-scale", "7200") as lab:
        source = lab.source()
        assert source.status == "pending"
        eventually(lambda: lab.again(source).status == "canceled")
        assert lab.events(source) == ["source.canceled"]


def test_return_url_is_kept_as_given(lab):
    assert lab.source().redirect.return_url == RETURN_URL
