"""Tests the search of charges, intents and customers, with Stripe's official client."""

import pytest
import stripe

from harness.stripe_lab import StripeLab


@pytest.fixture(scope="module")
def lab():
    with StripeLab() as lab:
        for number in range(5):
            lab.v1.charges.create({
                "amount": 1000 + number, "currency": "usd" if number % 2 else "eur",
                "source": "tok_visa" if number < 3 else "tok_mastercard",
                "metadata": {"order": f"A-{number}", "shop": "Zoë's \"best\""} if number else {},
            })
        for amount in (2000, 3000):
            lab.v1.payment_intents.create({"amount": amount, "currency": "usd", "metadata": {"order": str(amount)}})
        lab.v1.payment_intents.create(
            {"amount": 4000, "currency": "usd", "payment_method": "pm_card_visa", "confirm": True, "metadata": {"order": "paid"}}
        )
        lab.v1.customers.create({"name": "Amy Rocket", "email": "amy@rocketrides.io", "phone": "+15555550100"})
        lab.v1.customers.create({"name": "Bob", "email": "bob@example.com", "metadata": {"tier": "gold"}})
        yield lab


def amounts(lab, query: str) -> list[int]:
    return [charge.amount for charge in lab.v1.charges.search({"query": query, "limit": 100}).data]


@pytest.mark.parametrize("query, found", [
    ("metadata['order']:'A-2'", [1002]),
    ('metadata["order"]:"a-2"', [1002]),
    ("metadata['shop']:'Zoë\\'s \"best\"'", [1004, 1003, 1002, 1001]),
    ("metadata['order']:null", [1000]),
    ("-metadata['order']:null", [1004, 1003, 1002, 1001]),
    ("amount>1002", [1004, 1003]),
    ("amount>=1002 amount<1004", [1003, 1002]),
    ("amount:1001", [1001]),
    ("amount='1001'", [1001]),
    ("currency:'eur' AND amount>1000", [1004, 1002]),
    ("currency:'eur' and -amount:1002", [1004, 1000]),
    ("amount:1000 OR amount:1004", [1004, 1000]),
    ("-currency:\"EUR\"", [1003, 1001]),
    ("status:'succeeded' currency:'usd'", [1003, 1001]),
    ("status:'failed'", []),
    ("refunded:'false' disputed:'false' amount<=1001", [1001, 1000]),
    ("payment_method_details.card.last4:4444", [1004, 1003]),
    ("payment_method_details.card.brand:'visa'", [1002, 1001, 1000]),
    ("created>0", [1004, 1003, 1002, 1001, 1000]),
    ("created>4000000000", []),
])
def test_charges_are_found(lab, query, found):
    got = [amount for amount in amounts(lab, query) if amount < 2000]
    assert got == found


def test_intents_and_customers_are_found(lab):
    intents = lab.v1.payment_intents.search({"query": "status:'succeeded' AND metadata['order']:'paid'"})
    assert [one.amount for one in intents.data] == [4000]
    assert [one.amount for one in lab.v1.payment_intents.search({"query": "amount<4000"}).data] == [3000, 2000]
    assert [one.name for one in lab.v1.customers.search({"query": "email~'rocket'"}).data] == ["Amy Rocket"]
    assert [one.name for one in lab.v1.customers.search({"query": "name:'bob' metadata['tier']:'gold'"}).data] == ["Bob"]
    found = lab.v1.customers.search({"query": "created>0", "expand": ["total_count"]})
    assert found.total_count == 2


def test_pages_continue_and_new_objects_do_not_shift_them(lab):
    first = lab.v1.charges.search({"query": "amount<2000", "limit": 2})
    assert first.has_more and first.next_page and [one.amount for one in first.data] == [1004, 1003]
    lab.v1.charges.create({"amount": 1005, "currency": "eur", "source": "tok_visa"})
    second = lab.v1.charges.search({"query": "amount<2000", "limit": 2, "page": first.next_page})
    assert [one.amount for one in second.data] == [1002, 1001]
    every = [one.amount for one in lab.v1.charges.search({"query": "amount<1005", "limit": 2}).auto_paging_iter()]
    assert every == [1004, 1003, 1002, 1001, 1000]
    last = lab.v1.charges.search({"query": "amount:1000"})
    assert (last.has_more, last.next_page) == (False, None)


@pytest.mark.parametrize("query", [
    "asdf", "amount", "foo:'bar'", "amount~'100'", "email:'a'", "status>'a'", "amount:'many'", "amount>1 AND amount<9 OR amount:3",
    "(amount>1)", "metadata:'a'", "metadata['a:'b'", "status:succeeded", "status:'a", " ", " ".join(["amount>1"] * 11),
])
def test_an_invalid_query_is_rejected(lab, query):
    with pytest.raises(stripe.InvalidRequestError) as refused:
        lab.v1.charges.search({"query": query})
    assert refused.value.param == "query"


def test_other_invalid_searches_are_rejected(lab):
    for wrong in ({"query": "amount>1", "page": "no"}, {"query": "amount>1", "limit": 101}, {"query": "amount>1", "starting_after": "ch_1"}):
        with pytest.raises(stripe.InvalidRequestError):
            lab.v1.charges.search(wrong)
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.customers.search({"query": "email~'ro'"})
    with pytest.raises(stripe.PermissionError):
        lab.client_for("pk_test_0123456789").v1.payment_intents.search({"query": "amount>1"})
    other = lab.client_for("sk_test_0123456789abcdef", stripe_account="acct_2").v1
    assert other.charges.search({"query": "amount>1"}).data == []
