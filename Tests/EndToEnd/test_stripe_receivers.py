"""Tests receivers, to which customers send money, and codes that customers confirm, with Stripe's official client."""

import pytest
import stripe

from harness.stripe_lab import DAY, HOUR, StripeLab, eventually


@pytest.fixture(scope="module")
def lab():
    with StripeLab() as lab:
        yield lab


@pytest.fixture(scope="module")
def slow_lab():
    """A sandbox in which nothing happens by itself before an hour has passed."""
    with StripeLab("--auto-delay", str(HOUR)) as lab:
        yield lab


def multibanco(lab, **more):
    return lab.source("multibanco", **more)


def ach(lab, **more):
    return lab.source("ach_credit_transfer", amount=None, redirect=None, currency="usd", **more)


def amounts(source):
    receiver = source.receiver
    return receiver.amount_received, receiver.amount_charged, receiver.amount_returned


def test_multibanco_is_paid_in_two_parts(lab):
    source = multibanco(lab)
    assert (source.flow, source.status, source.usage) == ("receiver", "pending", "single_use")
    assert source.multibanco.entity and source.receiver.address
    lab.pay(source, 400)
    assert lab.again(source).status == "pending" and amounts(lab.again(source)) == (400, 0, 0)
    lab.pay(source, 699)
    assert lab.again(source).status == "chargeable"
    assert lab.charge(source).paid
    assert lab.again(source).status == "consumed" and amounts(lab.again(source)) == (1099, 1099, 0)
    paid = lab.v1.sources.transactions.list(source.id).data
    assert [payment.amount for payment in paid] == [699, 400]
    assert all(payment.status == "succeeded" for payment in paid)
    assert lab.events(source) == ["source.chargeable"]
    created = lab.v1.events.list({"type": "source.transaction.created", "limit": 2}).data
    assert [event.data.object.id for event in created] == [payment.id for payment in paid]


def test_excess_money_is_returned(lab):
    source = multibanco(lab)
    lab.pay(source, 1500)
    lab.charge(source)
    assert amounts(lab.again(source)) == (1500, 1099, 401)
    assert lab.again(source).receiver.refund_attributes_status == "requested"
    assert lab.events(source) == ["source.chargeable", "source.refund_attributes_required"]


def test_a_part_is_returned_when_time_is_up(lab):
    source = multibanco(lab)
    lab.pay(source, 500)
    lab.advance(7 * DAY - 60)
    assert lab.again(source).status == "pending"
    lab.advance(61)
    assert lab.again(source).status == "canceled" and amounts(lab.again(source)) == (500, 0, 500)
    # Money that arrives even later is returned too.
    lab.pay(source, 599)
    assert lab.again(source).status == "canceled" and amounts(lab.again(source)) == (1099, 0, 1099)
    assert lab.events(source) == ["source.canceled", "source.refund_attributes_required"]


def test_a_paid_multibanco_has_to_be_charged_within_six_hours(lab):
    source = multibanco(lab)
    lab.press(source, "authorize")
    assert lab.again(source).status == "chargeable"
    lab.advance(6 * HOUR + 1)
    assert lab.again(source).status == "canceled" and amounts(lab.again(source)) == (1099, 0, 1099)


def test_documented_names_pay_automatically(lab, slow_lab):
    # This name pays after three seconds, with any delay of the other automatic changes.
    source = multibanco(slow_lab, owner={"email": "a_chargeable@example.com"})
    assert source.status == "pending"
    slow_lab.advance(4)
    assert slow_lab.again(source).status == "chargeable"
    sent = ach(lab, owner={"email": "amount_2500@example.com"})
    assert amounts(lab.until(sent, "chargeable")) == (2500, 0, 0)


def test_a_reusable_receiver_is_charged_up_to_the_received_amount(lab):
    source = ach(lab)
    customer = lab.v1.customers.create({"source": source.id})
    lab.pay(source, 1000)
    assert lab.again(source).status == "chargeable"
    lab.charge(source, 600, "usd", customer=customer.id)
    with pytest.raises(stripe.InvalidRequestError) as short:
        lab.charge(source, 500, "usd", customer=customer.id)
    assert short.value.code == "insufficient_funds"
    lab.pay(source, 100)
    lab.charge(source, 500, "usd", customer=customer.id)
    assert amounts(lab.again(source)) == (1100, 1100, 0)
    lab.advance(365 * DAY)
    assert lab.again(source).status == "chargeable"


def test_an_announced_payment_counts_only_on_arrival(slow_lab):
    lab = slow_lab
    source = multibanco(lab)
    lab.pay(source, 1099, pending=True)
    assert lab.v1.sources.transactions.list(source.id).data[0].status == "pending"
    assert lab.again(source).status == "pending"
    lab.advance(HOUR + 1)
    assert lab.again(source).status == "chargeable"
    event = lab.v1.events.list({"type": "source.transaction.updated", "limit": 1}).data[0]
    assert event.data.previous_attributes.to_dict() == {"status": "pending"}


def test_a_refund_waits_for_the_bank_account_of_the_customer(lab):
    source = multibanco(lab)
    lab.pay(source, 1099)
    charge = lab.charge(source)
    refund = lab.v1.refunds.create({"charge": charge.id, "amount": 500})
    assert refund.status == "pending"
    assert lab.again(source).receiver.refund_attributes_status == "requested"
    lab.control(f"sources/{source.id}/refund_attributes", {})
    assert lab.again(source).receiver.refund_attributes_status == "available"
    lab.until(refund, "succeeded")
    assert amounts(lab.again(source)) == (1099, 599, 500)
    # A second refund needs no new data.
    assert lab.v1.refunds.create({"charge": charge.id}).status == "succeeded"


def test_the_shop_can_submit_refund_data(lab):
    source = multibanco(lab, receiver={"refund_attributes_method": "manual"})
    assert source.receiver.refund_attributes_method == "manual"
    lab.pay(source, 1099)
    given = lab.v1.sources.update(source.id, {"multibanco": {"refund_iban": "PT50000201231234567890154"}})
    assert given.receiver.refund_attributes_status == "available"
    assert given.multibanco.refund_iban == "PT50000201231234567890154"


def test_transactions_are_listed_page_by_page(lab):
    source = multibanco(lab)
    for amount in range(1, 6):
        lab.pay(source, amount)
    listed = lab.v1.sources.transactions.list(source.id, {"limit": 2})
    assert [payment.amount for payment in listed.auto_paging_iter()] == [5, 4, 3, 2, 1]
    first = listed.data[-1]
    newer = lab.v1.sources.transactions.list(source.id, {"ending_before": first.id})
    assert [payment.amount for payment in newer.data] == [5]


def test_money_is_sent_from_a_page(lab):
    source = ach(lab)
    page = f"{lab.url}/pay/{source.id}"
    assert source.receiver.address in lab.http.get(page, timeout=30).text
    answer = lab.http.post(page, data={"amount": "750"}, timeout=30)
    assert "750" in answer.text
    assert amounts(lab.again(source)) == (750, 0, 0)


# Codes and micro-deposits.


def ach_debit(lab):
    return lab.source("ach_debit", amount=None, redirect=None, currency="usd")


def test_the_right_amounts_make_an_account_chargeable(lab):
    source = ach_debit(lab)
    assert (source.flow, source.status) == ("code_verification", "pending")
    assert (source.code_verification.status, source.code_verification.attempts_remaining) == ("pending", 5)
    verified = lab.v1.sources.verify(source.id, {"values": ["45", "32"]})
    assert (verified.status, verified.code_verification.status) == ("chargeable", "succeeded")
    with pytest.raises(stripe.InvalidRequestError) as again:
        lab.v1.sources.verify(source.id, {"values": ["45", "32"]})
    assert again.value.code == "payment_method_unexpected_state"
    assert lab.until(lab.charge(source, currency="usd"), "succeeded").paid


def test_wrong_amounts_use_up_the_attempts(lab):
    source = ach_debit(lab)
    for left in (4, 3, 2, 1, 0):
        with pytest.raises(stripe.InvalidRequestError) as wrong:
            lab.v1.sources.verify(source.id, {"values": ["1", "2"]})
        assert lab.again(source).code_verification.attempts_remaining == left
    assert wrong.value.code == "payment_method_microdeposit_verification_attempts_exceeded"
    failed = lab.again(source)
    assert (failed.status, failed.code_verification.status) == ("failed", "failed")
    assert lab.events(source) == ["source.failed"]


def test_a_repeated_wrong_request_uses_one_attempt(lab):
    source = ach_debit(lab)
    for _ in range(2):
        with pytest.raises(stripe.InvalidRequestError):
            lab.v1.sources.verify(source.id, {"values": ["1", "2"]}, {"idempotency_key": f"try-{source.id}"})
    assert lab.again(source).code_verification.attempts_remaining == 4


def test_an_unverified_account_expires(lab):
    source = ach_debit(lab)
    lab.advance(10 * DAY + 1)
    assert lab.again(source).status == "canceled"


def test_amounts_are_typed_into_a_page(lab):
    source = ach_debit(lab)
    page = f"{lab.url}/verify/{source.id}"
    assert "Attempts left" in lab.http.get(page, timeout=30).text
    lab.http.post(page, data={"amounts[]": ["9", "9"]}, timeout=30)
    assert lab.again(source).code_verification.attempts_remaining == 4
    lab.http.post(page, data={"amounts[]": ["32", "45"]}, timeout=30)
    assert eventually(lambda: lab.again(source).status == "chargeable")


def test_a_verified_account_needs_no_code(lab):
    source = lab.source("ach_debit", amount=None, redirect=None, currency="usd", flow="none")
    assert (source.flow, source.status) == ("none", "chargeable")


@pytest.mark.parametrize(
    "type, currency, flow, status",
    [
        ("sepa_credit_transfer", "eur", "receiver", "pending"),
        ("acss_debit", "cad", "none", "chargeable"),
        ("au_becs_debit", "aud", "none", "chargeable"),
        ("card_present", "usd", "none", "chargeable"),
    ],
)
def test_the_rarer_types_start_as_documented(lab, type, currency, flow, status):
    source = lab.source(type, currency=currency, redirect=None)
    assert (source.flow, source.status) == (flow, status)
