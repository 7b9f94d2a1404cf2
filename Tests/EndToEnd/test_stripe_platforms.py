"""Tests a platform that charges for connected accounts, and the sandbox's event log for checkers."""

import pytest
import stripe

from harness.stripe_lab import StripeLab


@pytest.fixture(scope="module")
def lab():
    with StripeLab() as lab:
        yield lab



def test_platform_parameters_are_stored_with_charge_and_intent(lab):
    shares = {"application_fee_amount": 100, "on_behalf_of": "acct_1", "transfer_group": "order_6",
              "transfer_data": {"destination": "acct_1"}}
    charge = lab.charge(lab.v1.sources.create({"type": "card"}), **shares)
    assert (charge.application_fee_amount, charge.on_behalf_of, charge.transfer_group) == (100, "acct_1", "order_6")
    assert charge.transfer_data.destination == "acct_1" and charge.application_fee
    assert [found.id for found in lab.v1.charges.list({"transfer_group": "order_6"}).data] == [charge.id]
    made = lab.v1.payment_intents.create({
        "amount": 1099, "currency": "eur", "payment_method": "pm_card_visa", "confirm": True,
        "expand": ["latest_charge"]} | shares)
    assert made.application_fee_amount == made.latest_charge.application_fee_amount == 100
    for wrong in ({"application_fee_amount": 5}, shares | {"application_fee_amount": 5000}, {"on_behalf_of": "me"}):
        with pytest.raises(stripe.InvalidRequestError):
            lab.charge(lab.v1.sources.create({"type": "card"}), **wrong)
    # A charge of the connected account itself, with the platform's fee.
    card = lab.client.v1.sources.create({"type": "card"}, {"stripe_account": "acct_9"})
    own = lab.v1.charges.create({"amount": 1099, "currency": "eur", "source": card.id, "application_fee_amount": 5},
                                {"stripe_account": "acct_9"})
    assert own.application_fee_amount == 5


def test_a_checker_reads_events_with_times_in_milliseconds(lab):
    charge = lab.charge(lab.v1.sources.create({"type": "card"}))
    since = 0
    found = []
    while True:
        page = lab.control(f"events?type=charge.*&since={since}&limit=3", method="GET")
        found += [event for event in page["data"] if event["object"]["id"] == charge.id]
        since = page["next"]
        if not page["has_more"]:
            break
    assert [event["type"] for event in found] == ["charge.succeeded"]
    assert found[0]["at_ms"] > 1_700_000_000_000 and found[0]["object"]["amount"] == 1099
