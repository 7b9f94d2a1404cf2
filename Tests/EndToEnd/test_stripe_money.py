"""Tests money that moves after success, with Stripe's official client.

Covers late answers of banks, refunds, disputes, returned debits, expired authorisations and the resulting balance.
"""

import pytest
import stripe

from harness.stripe_lab import DAY, HOUR, StripeLab, eventually

CARD = {"number": "4242424242424242"}


@pytest.fixture(scope="module")
def lab():
    with StripeLab() as lab:
        yield lab


@pytest.fixture(scope="module")
def slow_lab():
    """A sandbox in which nothing happens by itself before an hour has passed."""
    with StripeLab("--auto-delay", str(HOUR)) as lab:
        yield lab


def paid(lab, number: str = "4242424242424242", amount: int = 1099, **more):
    """Returns a charge of a test card."""
    return lab.charge(lab.v1.sources.create({"type": "card", "card": {"number": number}}), amount, "eur", **more)


def debited(lab, iban: str = "DE89370400440532013000", **owner):
    source = lab.source(
        "sepa_debit", amount=None, redirect=None, sepa_debit={"iban": iban}, owner={"name": "Jenny Rosen"} | owner
    )
    return lab.charge(source)


def dispute(lab, charge, **wanted):
    return lab.v1.disputes.retrieve(lab.control(f"charges/{charge.id}/disputes", wanted)["id"])


def balance(lab, *things) -> list[tuple[str, int]]:
    """Returns the balance transactions of these objects, oldest first."""
    lines = [line for thing in things for line in lab.v1.balance_transactions.list({"source": thing.id}).data[::-1]]
    return [(line.type, line.amount) for line in lines]


# Banks that answer late.


@pytest.mark.parametrize("type", ["sofort", "sepa_debit"])
@pytest.mark.parametrize("status", ["succeeded", "failed"])
def test_a_pending_charge_is_decided_by_its_bank(lab, type, status):
    owner = {"name": "pending_charge", "email": "zoe@example.com"}
    if type == "sofort":
        source = lab.source(type, owner=owner)
        lab.press(source, "authorize")
        charge = lab.charge(source)
    else:
        charge = debited(lab, name="pending_charge")
    assert (charge.status, charge.paid, charge.amount_captured) == ("pending", False, 0)
    assert balance(lab, charge) == []
    lab.control(f"charges/{charge.id}/status", {"status": status})
    after = lab.again(charge)
    assert (after.status, after.paid) == (status, status == "succeeded")
    assert balance(lab, charge) == ([("payment", 1099)] if status == "succeeded" else [])
    assert lab.events(charge) == ["charge.pending", f"charge.{status}"]


@pytest.mark.parametrize("status", ["succeeded", "failed"])
def test_the_bank_decision_applies_to_the_intent_too(lab, status):
    made = lab.v1.payment_intents.create({
        "amount": 1099, "currency": "eur", "payment_method_types": ["sepa_debit"], "confirm": True,
        "payment_method_data": {"type": "sepa_debit", "sepa_debit": {"iban": "DE89370400440532013000"},
                                "billing_details": {"name": "pending_charge"}},
        "expand": ["latest_charge"],
    })
    assert (made.status, made.latest_charge.status) == ("processing", "pending")
    lab.control(f"charges/{made.latest_charge.id}/status", {"status": status})
    after = lab.v1.payment_intents.retrieve(made.id, {"expand": ["latest_charge"]})
    assert after.status == ("succeeded" if status == "succeeded" else "requires_payment_method")
    assert after.latest_charge.status == status
    assert after.amount_received == (1099 if status == "succeeded" else 0)


def test_a_succeeded_charge_may_fail_later(lab):
    charge = lab.until(debited(lab), "succeeded")
    lab.control(f"charges/{charge.id}/status", {"status": "failed"})
    assert (lab.again(charge).status, lab.again(charge).captured) == ("failed", False)
    assert balance(lab, charge) == [("payment", 1099), ("payment_failure_refund", -1099)]


# Refunds.


def test_partial_refunds_add_up_to_the_whole_amount(lab):
    charge = paid(lab)
    first = lab.v1.refunds.create({"charge": charge.id, "amount": 99})
    assert (lab.again(charge).amount_refunded, lab.again(charge).refunded) == (99, False)
    second = lab.v1.refunds.create({"charge": charge.id, "reason": "duplicate"})
    after = lab.v1.charges.retrieve(charge.id, {"expand": ["refunds"]})
    assert (after.amount_refunded, after.refunded) == (1099, True)
    assert [refund.id for refund in after.refunds.data] == [second.id, first.id]
    assert balance(lab, charge, first, second) == [("charge", 1099), ("refund", -99), ("refund", -1000)]
    with pytest.raises(stripe.InvalidRequestError) as refused:
        lab.v1.refunds.create({"charge": charge.id})
    assert refused.value.code == "charge_already_refunded"


def test_a_failed_refund_returns_the_money_to_the_shop(lab):
    charge = paid(lab)
    refund = lab.v1.refunds.create({"charge": charge.id, "amount": 500})
    lab.control(f"refunds/{refund.id}/status", {"status": "failed", "failure_reason": "expired_or_canceled_card"})
    after = lab.again(refund)
    assert (after.status, after.failure_reason) == ("failed", "expired_or_canceled_card")
    assert after.failure_balance_transaction and lab.again(charge).amount_refunded == 0
    assert balance(lab, refund) == [("refund", -500), ("refund_failure", 500)]
    assert lab.events(refund) == ["refund.created", "refund.updated", "charge.refund.updated", "refund.failed"]
    # A failed refund can be retried.
    lab.control(f"refunds/{refund.id}/status", {"status": "succeeded"})
    assert lab.again(charge).amount_refunded == 500 and lab.again(refund).status == "succeeded"


@pytest.mark.parametrize("number, first, last, left", [
    ("4000000000007726", "pending", "succeeded", 1099), ("4000000000005126", "succeeded", "failed", 0),
])
def test_test_cards_of_refunds(slow_lab, number, first, last, left):
    lab = slow_lab
    charge = paid(lab, number)
    refund = lab.v1.refunds.create({"charge": charge.id})
    assert refund.status == first and lab.again(charge).amount_refunded == 1099
    lab.advance(HOUR + 1)
    assert lab.again(refund).status == last and lab.again(charge).amount_refunded == left


def test_a_refund_of_a_transfer_waits_for_a_bank_account(lab):
    source = lab.source("multibanco")
    lab.pay(source, 1099)
    charge = lab.charge(source)
    refund = lab.v1.refunds.create({"charge": charge.id})
    assert (refund.status, lab.again(source).receiver.refund_attributes_status) == ("pending", "requested")
    assert lab.events(source)[-1] == "source.refund_attributes_required"
    lab.v1.sources.update(source.id, {"multibanco": {"refund_iban": "PT50000201231234567890154"}})
    assert lab.again(source).receiver.refund_attributes_status == "available"
    lab.until(refund, "succeeded")
    assert lab.again(source).receiver.amount_returned == 1099
    assert balance(lab, refund) == [("payment_refund", -1099)]


# Disputes.


def test_a_dispute_withdraws_the_money_and_may_return_it(lab):
    charge = paid(lab)
    fight = dispute(lab, charge, reason="product_not_received")
    assert (fight.status, fight.reason, fight.amount, fight.charge) == (
        "needs_response", "product_not_received", 1099, charge.id)
    assert lab.again(charge).disputed and not fight.is_charge_refundable
    assert [line.amount for line in fight.balance_transactions] == [-1099]
    with pytest.raises(stripe.InvalidRequestError) as refused:
        lab.v1.refunds.create({"charge": charge.id})
    assert refused.value.code == "charge_disputed"
    lab.v1.disputes.update(fight.id, {"evidence": {"customer_name": "Zoë"}})
    assert lab.again(fight).status == "under_review" and lab.again(fight).evidence_details.has_evidence
    lab.control(f"disputes/{fight.id}/status", {"status": "won"})
    after = lab.again(fight)
    assert after.status == "won" and [line.net for line in after.balance_transactions] == [-1099, 1099]
    assert lab.again(charge).disputed, "a charge stays marked as disputed"
    assert lab.events(fight) == [
        "charge.dispute.created", "charge.dispute.funds_withdrawn", "charge.dispute.updated",
        "charge.dispute.funds_reinstated", "charge.dispute.closed",
    ]


def test_an_unanswered_dispute_is_lost(lab):
    fight = dispute(lab, paid(lab), amount=400)
    lab.advance(14 * DAY - 60)
    assert lab.again(fight).status == "needs_response"
    lab.advance(120)
    after = lab.again(fight)
    assert (after.status, after.evidence_details.past_due, after.amount) == ("lost", True, 400)
    assert balance(lab, fight) == [("adjustment", -400)]
    assert lab.events(fight)[-1] == "charge.dispute.closed"


def test_an_inquiry_takes_nothing_until_it_is_escalated(lab):
    charge = paid(lab)
    question = dispute(lab, charge, status="warning_needs_response")
    assert question.is_charge_refundable and question.balance_transactions == []
    lab.control(f"disputes/{question.id}/status", {"status": "needs_response"})
    assert balance(lab, question) == [("adjustment", -1099)]
    assert lab.events(question) == [
        "charge.dispute.created", "charge.dispute.funds_withdrawn", "charge.dispute.updated"]
    # A refund closes an inquiry.
    other = paid(lab)
    asked = dispute(lab, other, status="warning_needs_response")
    lab.v1.refunds.create({"charge": other.id})
    assert lab.again(asked).status == "warning_closed" and balance(lab, asked) == []


def test_disputes_are_listed_by_charge_and_by_intent(lab):
    made = lab.v1.payment_intents.create(
        {"amount": 1099, "currency": "eur", "payment_method": "pm_card_visa", "confirm": True})
    charge = lab.v1.charges.retrieve(made.latest_charge)
    first = dispute(lab, charge, amount=100)
    second = dispute(lab, charge, amount=200)
    other = dispute(lab, paid(lab))
    by_charge = lab.v1.disputes.list({"charge": charge.id}).data
    assert [found.id for found in by_charge] == [second.id, first.id]
    assert [found.id for found in lab.v1.disputes.list({"payment_intent": made.id}).data] == [second.id, first.id]
    assert first.payment_intent == made.id and lab.v1.disputes.list({"limit": 1}).data[0].id == other.id
    assert lab.v1.disputes.close(first.id).status == "lost"


@pytest.mark.parametrize("number, reason, status", [
    ("4000000000000259", "fraudulent", "needs_response"),
    ("4000000000002685", "product_not_received", "needs_response"),
    ("4000000000001976", "fraudulent", "warning_needs_response"),
])
def test_test_cards_of_disputes(lab, number, reason, status):
    charge = paid(lab, number)
    found = eventually(lambda: lab.v1.disputes.list({"charge": charge.id}).data)
    assert (found[0].reason, found[0].status) == (reason, status)


def test_a_returned_debit_is_a_lost_dispute(lab):
    charge = lab.until(debited(lab, "AT591904300235473203"), "succeeded")
    found = eventually(lambda: lab.v1.disputes.list({"charge": charge.id}).data)[0]
    assert (found.status, found.reason) == ("lost", "debit_not_authorized")
    assert lab.events(found) == ["charge.dispute.created", "charge.dispute.funds_withdrawn", "charge.dispute.closed"]
    assert lab.again(charge).status == "succeeded" and lab.again(charge).disputed
    assert balance(lab, charge, found) == [("payment", 1099), ("adjustment", -1099)]


# Authorisations.


def test_an_expired_authorisation_cancels_its_intent(lab):
    made = lab.v1.payment_intents.create({
        "amount": 1099, "currency": "eur", "payment_method": "pm_card_visa", "confirm": True,
        "capture_method": "manual", "expand": ["latest_charge"]})
    reserved = made.latest_charge
    assert reserved.payment_method_details.card.capture_before - reserved.created in (7 * DAY, 7 * DAY - 1)
    lab.advance(7 * DAY + 1)
    after = lab.v1.payment_intents.retrieve(made.id, {"expand": ["latest_charge.refunds"]})
    assert (after.status, after.cancellation_reason, after.amount_received) == ("canceled", "expired", 0)
    assert not after.latest_charge.refunded and not after.latest_charge.captured
    assert after.latest_charge.refunds.data == []
    assert lab.events(reserved)[-1] == "charge.expired" and lab.events(made)[-1] == "payment_intent.canceled"
    assert balance(lab, reserved) == []


def test_an_uncaptured_amount_is_neither_refunded_nor_received(lab):
    charge = paid(lab, amount=1000, capture=False)
    lab.v1.charges.capture(charge.id, {"amount": 700})
    after = lab.v1.charges.retrieve(charge.id, {"expand": ["refunds"]})
    assert (after.amount_captured, after.amount_refunded, after.refunded) == (700, 0, False)
    assert after.refunds.data == [] and balance(lab, charge) == [("charge", 700)]
    lab.v1.refunds.create({"charge": charge.id})
    whole = lab.again(charge)
    assert (whole.amount_refunded, whole.refunded) == (700, True)


def test_an_authorisation_ends_by_control(lab):
    charge = paid(lab, capture=False)
    lab.control(f"charges/{charge.id}/expire")
    ended = lab.again(charge)
    assert (ended.captured, ended.refunded, ended.amount_refunded) == (False, False, 0)
    assert lab.events(charge)[-1] == "charge.expired"


# Transfers and 3D Secure.


def test_a_bank_transfer_comes_in_parts(lab):
    customer = lab.v1.customers.create({"name": "Zoë"})
    made = lab.v1.payment_intents.create({
        "amount": 1099, "currency": "eur", "customer": customer.id, "confirm": True,
        "payment_method_types": ["customer_balance"], "payment_method_data": {"type": "customer_balance"}})
    assert made.next_action.display_bank_transfer_instructions.amount_remaining == 1099
    lab.control(f"customers/{customer.id}/payments", {"amount": 400, "currency": "eur"})
    after = lab.again(made)
    assert (after.status, after.amount_received) == ("requires_action", 0)
    assert after.next_action.display_bank_transfer_instructions.amount_remaining == 699
    lab.pay(made, 699)
    assert (lab.again(made).status, lab.again(made).amount_received) == ("succeeded", 1099)
    assert lab.events(made) == [
        "payment_intent.created", "payment_intent.requires_action", "payment_intent.partially_funded",
        "payment_intent.succeeded"]


def test_a_card_that_requires_3d_secure_is_charged_only_through_it(lab):
    card = lab.v1.sources.create({"type": "card", "card": {"number": "4000000000003063"}})
    assert card.card.three_d_secure == "required"
    with pytest.raises(stripe.CardError) as declined:
        lab.charge(card)
    assert (declined.value.http_status, declined.value.code) == (402, "authentication_required")
    failed = lab.v1.charges.retrieve(declined.value.error.charge)
    assert (failed.status, failed.failure_code) == ("failed", "authentication_required")
    secure = lab.source("three_d_secure", three_d_secure={"card": card.id})
    lab.press(secure, "authorize")
    assert lab.charge(secure).paid


def test_a_manual_mandate_announces_each_debit(lab):
    source = lab.source("sepa_debit", amount=None, redirect=None, sepa_debit={"iban": "DE89370400440532013000"},
                        mandate={"notification_method": "manual"})
    charge = lab.charge(source)
    event = lab.v1.events.list({"type": "source.mandate_notification", "limit": 1}).data[0]
    notice = event.data.object
    assert (notice.amount, notice.source.id, notice.reason) == (charge.amount, source.id, "debit_initiated")
    answer = lab.client.raw_request("get", f"/v1/sources/{source.id}/mandate_notifications/{notice.id}")
    assert lab.client.deserialize(answer, api_mode="V1").id == notice.id


# Lists.


def test_every_balance_transaction_has_the_fields_of_the_client(lab):
    charge = paid(lab)
    line = lab.v1.balance_transactions.retrieve(charge.balance_transaction)
    assert set(stripe.BalanceTransaction.__annotations__) - {"OBJECT_NAME", "_inner_class_types"} <= set(line.to_dict())
    assert (line.source, line.type, line.amount, line.net, line.fee) == (charge.id, "charge", 1099, 1099, 0)
    since = lab.v1.balance_transactions.list({"created": {"gte": line.created}, "type": "charge"}).data
    assert line.id in [found.id for found in since]
    assert lab.v1.balance_transactions.list({"created": {"gt": line.created + DAY}}).data == []


def test_charges_and_disputes_are_listed_by_time(lab):
    lab.advance(DAY)
    charge = paid(lab)
    fight = dispute(lab, charge)
    since = {"created": {"gte": charge.created}}
    assert [found.id for found in lab.v1.charges.list(since).data] == [charge.id]
    assert [found.id for found in lab.v1.disputes.list(since).data] == [fight.id]
    assert lab.v1.refunds.list(since).data == []
    kinds = {"charge", "refund", "dispute", "payment_intent", "source_mandate_notification"}
    assert kinds <= set(lab.schemas.seen)
