"""The ways to pay that orders are given with, what their customers do, and how each has to end."""

from collections.abc import Callable
from dataclasses import dataclass, field

import requests

from harness.sandbox import Sandbox

AMOUNT = 1099


@dataclass(frozen=True)
class Kind:
    """A way to pay and what becomes of it.

    word: what the payment comes to when the customer has done their part. then: what happens to it
    afterwards, and what its last word is then.
    """

    type: str
    act_name: str
    word: str
    form: dict = field(default_factory=dict)
    is_kept: bool = False
    is_intent: bool = False
    then: tuple[str, str] | None = None

    def __str__(self) -> str:
        name = f"{'intent of ' if self.is_intent else ''}{self.type}, {self.act_name}, {self.word}"
        return f"{name}, {self.then[0]}" if self.then else name

    @property
    def last(self) -> str:
        return self.then[1] if self.then else self.word

    @property
    def words(self) -> set[str]:
        """What its payer waits for at first: what comes later may come at once."""
        return {self.word, self.last}

    @property
    def charges(self) -> bool:
        """An intent charges itself."""
        return not self.is_intent

    def make(self, stripe: Sandbox, order: str) -> dict:
        """Creates it at Stripe, as the shop does."""
        if self.is_intent:
            form = {
                "amount": AMOUNT, "currency": "eur", "payment_method_types[]": self.type, "confirm": "true",
                "payment_method_data[type]": self.type, "return_url": "http://127.0.0.1/thanks",
                "metadata[order]": order,
            }
            form |= self.form
            if "payment_method" in self.form:
                del form["payment_method_data[type]"]
            return stripe._stripe("POST", "/v1/payment_intents", form)
        form = {
            "type": self.type, "amount": AMOUNT, "currency": "eur",
            "redirect[return_url]": "http://127.0.0.1/thanks",
        } | self.form
        form = {name: value for name, value in form.items() if value is not None}
        source = stripe._stripe("POST", "/v1/sources", form)
        if self.is_kept:
            stripe._stripe("POST", "/v1/customers", {"source": source["id"]})
        return source

    def act(self, stripe: Sandbox, made: dict) -> None:
        """What the customer does, or the bank."""
        id = made["id"]
        match self.act_name:
            case "authorise":
                stripe.authorise(id)
            case "refuse":
                page = f"{stripe.url}/redirect/{id}/fail"
                assert requests.post(page, allow_redirects=False, timeout=20).status_code == 303
            case "pay":
                stripe._call("POST", f"/_sandbox/sources/{id}/payments", json={"amount": AMOUNT})
            case "pay in two parts":
                for amount in (400, AMOUNT - 400):
                    stripe._call("POST", f"/_sandbox/sources/{id}/payments", json={"amount": amount})
            case "let it lapse":
                stripe.set_status(id, "canceled")
            case "decline":
                stripe._call("POST", f"/_sandbox/sources/{id}/status", json={"status": "failed"})
            case "nothing":
                pass
            case _:
                raise ValueError(self.act_name)

    @property
    def after(self) -> Callable[[Sandbox, dict], None] | None:
        """What becomes of the money after it had come; nil when it stays."""
        return self._move if self.then and self.then[0] != "by itself" else None

    def _move(self, stripe: Sandbox, made: dict) -> None:
        charge = self._charge(stripe, made["id"])
        match self.then[0]:
            case "refund":
                stripe._stripe("POST", "/v1/refunds", {"charge": charge})
            case "refund a part":
                stripe._stripe("POST", "/v1/refunds", {"charge": charge, "amount": 99})
            case "dispute":
                stripe._call("POST", f"/_sandbox/charges/{charge}/disputes", json={})
            case "dispute and lose":
                dispute = stripe._call("POST", f"/_sandbox/charges/{charge}/disputes", json={})["id"]
                stripe._call("POST", f"/_sandbox/disputes/{dispute}/status", json={"status": "lost"})
            case "bounce":
                stripe._call("POST", f"/_sandbox/charges/{charge}/status", json={"status": "failed"})
            case _:
                raise ValueError(self.then[0])

    @staticmethod
    def _charge(stripe: Sandbox, id: str) -> str:
        if id.startswith("pi_"):
            return stripe._stripe("GET", f"/v1/payment_intents/{id}")["latest_charge"]
        path = "/v1/charges?limit=100"
        while True:
            page = stripe._stripe("GET", path)
            for charge in page["data"]:
                if (charge.get("source") or {}).get("id") == id:
                    return charge["id"]
            assert page["has_more"], f"nobody has charged {id}"
            path = f"/v1/charges?limit=100&starting_after={page['data'][-1]['id']}"


NAMED = {"owner[name]": "Jenny Rosen", "owner[email]": "jenny@example.com"}
NO_RETURN = {"redirect[return_url]": None}
CARD = NO_RETURN | {"card[exp_month]": 12, "card[exp_year]": 2034, "card[cvc]": 123}
SOFORT = {"sofort[country]": "DE"}
DEBIT = NO_RETURN | NAMED


def card(number: str) -> dict:
    return CARD | {"card[number]": number}


def debit(iban: str) -> dict:
    return DEBIT | {"sepa_debit[iban]": iban}


KINDS = [
    Kind("ideal", "authorise", "paid"),
    Kind("bancontact", "authorise", "paid", NAMED),
    Kind("giropay", "authorise", "paid", NAMED),
    Kind("eps", "authorise", "paid", NAMED),
    Kind("p24", "authorise", "paid", NAMED),
    Kind("alipay", "authorise", "paid"),
    Kind("klarna", "authorise", "paid"),
    Kind("wechat", "authorise", "paid", NO_RETURN),
    Kind("multibanco", "pay", "paid", NAMED),
    Kind("multibanco", "pay in two parts", "paid", NAMED),
    Kind("sepa_credit_transfer", "pay", "paid", NO_RETURN | NAMED | {"amount": None}),
    Kind("sofort", "authorise", "paid", SOFORT | {"owner[name]": "succeeding_charge"}),
    Kind("sofort", "authorise", "failed", SOFORT | {"owner[name]": "failing_charge"}),
    Kind("ideal", "authorise", "failed", {"owner[name]": "failing_charge"}),
    Kind("card", "nothing", "paid", card("4242424242424242"), is_kept=True),
    Kind("card", "nothing", "failed", card("4000000000000341"), is_kept=True),
    Kind("sepa_debit", "nothing", "paid", debit("DE89370400440532013000")),
    Kind("sepa_debit", "nothing", "failed", debit("DE62370400440532013001")),
    Kind("ideal", "refuse", "failed"),
    Kind("ideal", "let it lapse", "expired"),
    Kind("multibanco", "let it lapse", "expired", NAMED),
    Kind("ideal", "authorise", "paid", is_intent=True),
    Kind("ideal", "refuse", "failed", is_intent=True),
    Kind("sepa_debit", "nothing", "paid", {
        "payment_method_data[sepa_debit][iban]": "DE89370400440532013000",
    }, is_intent=True),
    Kind("sepa_debit", "nothing", "failed", {
        "payment_method_data[sepa_debit][iban]": "DE62370400440532013001",
    }, is_intent=True),
    Kind("card", "nothing", "paid", {"payment_method": "pm_card_visa"}, is_intent=True),
    Kind("ideal", "authorise", "paid", then=("refund", "refunded")),
    Kind("bancontact", "authorise", "paid", NAMED, then=("refund a part", "partially_refunded")),
    Kind("sofort", "authorise", "paid", SOFORT | {"owner[name]": "succeeding_charge"}, then=("bounce", "reversed")),
    Kind("card", "nothing", "paid", card("4242424242424242"), is_kept=True, then=("dispute", "disputed")),
    Kind("card", "nothing", "paid", card("4242424242424242"), is_kept=True, then=("dispute and lose", "reversed")),
    Kind("ideal", "authorise", "paid", is_intent=True, then=("refund", "refunded")),
]
