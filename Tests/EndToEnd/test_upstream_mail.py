"""Tests emails about payments at the operator's own upstream: amount, order and shop, and none of its JSON."""

import pytest
from harness.cluster import Cluster
from harness.waiting import wait_until
from test_configured import Bank

# The upstream's own status values, which payers must not see.
STATES = {"open": "AWAITING_X7", "settled": "SETTLED_X7", "rejected": "REJECTED_X7"}


@pytest.fixture(scope="module")
def bank():
    with Bank() as bank:
        yield bank


@pytest.fixture(scope="module")
def shop(tmp_path_factory, bank: Bank):
    """Starts a cluster that watches payments at a bank for a shop with a name."""
    file = tmp_path_factory.mktemp("config") / "poller.yaml"
    file.write_text(f"""
upstreams:
  till:
    url: {bank.url}/till/{{id}}
    status: /payment/state
    final: [{STATES["settled"]}, {STATES["rejected"]}]
    payment:
      state: {{map: {{{STATES["open"]}: awaiting_customer, {STATES["settled"]}: paid, {STATES["rejected"]}: failed}}}}
      amount: /payment/cents
      currency: /payment/currency
    branding: {{name: Bäckerei Süß, url: "https://shop.example/orders", support: help@shop.example, language: de}}
""")
    with Cluster(workers=1, listen=False, env={"POLLER_CONFIG_FILE": str(file)}) as cluster:
        yield cluster


def mailed(shop: Cluster, bank: Bank, number: int, end: str, **fields):
    """Returns the only email about a payment that ends with this state."""
    name, recipient = f"till-pay-{number}", f"payer{number}@example.com"
    bank.states[name] = STATES["open"]
    watch = {"url": f"{bank.url}/till/{name}", "policy": "interactive", "notify": [f"mailto:{recipient}"]}
    answer = shop.api.request("POST", "/v1/watches", json=watch | fields)
    assert answer.status_code == 201, answer.text
    path = f"/v1/watches/{name}?account=till&kind=http"
    wait_until(lambda: shop.api.get(path)["status"], 60, "seen")
    bank.states[name] = STATES[end]
    wait_until(lambda: shop.api.get(path)["state"] == "closed", 60, "closed")
    told = wait_until(
        lambda: [mail for mail in shop.mail.messages if mail["To"] == recipient], 60, "it is mailed"
    )
    assert len(told) == 1, [mail["Subject"] for mail in told]
    return told[0]


@pytest.mark.parametrize("end, locale, subject", [
    ("settled", None, "Bäckerei Süß: Zahlung bestätigt – Bestellung {order} – 1.234,50\xa0€"),
    ("settled", "en", "Bäckerei Süß: Payment confirmed – Order {order} – €1,234.50"),
    ("rejected", "en", "Bäckerei Süß: Payment failed – Order {order} – €1,234.50"),
])
def test_a_mail_has_amount_order_and_shop_and_no_text_of_the_upstream(
    shop: Cluster, bank: Bank, end: str, locale: str | None, subject: str
):
    bank.sums = {"cents": 123450, "currency": "eur"}
    number = len(bank.states)
    order = f"A77-{number}"
    mail = mailed(shop, bank, number, end, order=order, metadata={"locale": locale} if locale else {})
    assert mail["Subject"] == subject.format(order=order)
    assert mail["Reply-To"] == "help@shop.example"
    html, plain = (mail.get_body((kind,)).get_content() for kind in ("html", "plain"))
    for part in (html, plain):
        assert order in part and "234" in part and "Bäckerei Süß" in part
        assert "https://shop.example/orders" in part
        for secret in (f"till-pay-{number}", "X7", "till", "http.", "payment."):
            assert secret not in part.replace("payment.html", ""), secret
    if end == "settled":
        assert not any("again" in part or "nochmals" in part for part in (html, plain))
