"""The payment methods of the orders, the customers' actions, and the expected result of each."""

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import requests

from harness.sandbox import Sandbox

AMOUNT = 1099
# The captured part of an intent's authorised amount.
PART = 600
PATIENCE_S = 60


class Step(NamedTuple):
    """A later action on a payment after the customer's part, and the expected payment state.

    reason: the expected reason of the state; `None` accepts any reason.
    """

    name: str
    word: str
    reason: str | None = None


@dataclass(frozen=True)
class Kind:
    """A payment method, the customer's action, and the expected payment states.

    word: the payment state after the actions of the customer and the shop. own: the fields of the shop's own charge;
    `None` if the watch charges. until: the goal of the watch. then: later steps, each after the payer has read the
    previous step's state.
    """

    type: str
    act_name: str
    word: str
    form: dict = field(default_factory=dict)
    is_kept: bool = False
    is_intent: bool = False
    is_setup: bool = False
    own: dict | None = None
    until: str | None = None
    then: tuple[Step, ...] = ()

    def __str__(self) -> str:
        name = f"{self.family} of {self.type}, {self.act_name}, {self.word}"
        if self.own is not None:
            name += f", charged by the shop {self.own or ''}".rstrip()
        if self.until:
            name += f", until {self.until}"
        return ", ".join([name, *(step.name for step in self.then)])

    @property
    def family(self) -> str:
        """Stripe's name for the type of the object."""
        if self.is_setup:
            return "setup_intent"
        return "payment_intent" if self.is_intent else "source"

    @property
    def last(self) -> str:
        return self.then[-1].word if self.then else self.word

    @property
    def times(self) -> int:
        """The expected number of events for the last state.

        A won dispute or a failed refund repeats a state.
        """
        return [self.word, *(step.word for step in self.then)].count(self.last)

    @property
    def charges(self) -> bool:
        """Whether the watch charges.

        An intent needs no charge request, and with `own` the shop charges.
        """
        return self.family == "source" and self.own is None

    def make(self, stripe: Sandbox, order: str) -> dict:
        """Creates the payment at Stripe, as a shop does."""
        if self.family != "source":
            form = {
                "payment_method_types[]": self.type, "confirm": "true", "payment_method_data[type]": self.type,
                "return_url": "http://127.0.0.1/thanks", "metadata[order]": order,
            }
            if self.is_intent:
                form |= {"amount": AMOUNT, "currency": "eur"}
            form |= self.form
            if "payment_method" in self.form:
                del form["payment_method_data[type]"]
            return stripe._stripe("POST", f"/v1/{self.family}s", form)
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
        """Performs the action of the customer or the bank."""
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

    def charge(self, stripe: Sandbox, made: dict, order: str) -> None:
        """Makes the shop's own charge as soon as the source is chargeable."""
        end = time.monotonic() + PATIENCE_S
        while stripe.source(made["id"])["status"] != "chargeable":
            assert time.monotonic() < end, f"{made['id']} cannot be charged"
            time.sleep(0.1)
        form = {"source": made["id"], "amount": AMOUNT, "currency": "eur", "metadata[order]": order} | self.own
        self._ask(stripe, "/v1/charges", form, f"own-{made['id']}")

    @staticmethod
    def _ask(stripe: Sandbox, path: str, form: dict, key: str) -> None:
        """Posts a request and repeats it after a lost response.

        The idempotency key makes it take effect once.
        """
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                stripe._call("POST", path, data=form, auth=(stripe.KEY, ""), headers={"Idempotency-Key": key})
                return
            except requests.ConnectionError:
                assert time.monotonic() < end, f"{path} is not answered"

    def move(self, stripe: Sandbox, made: dict, step: Step) -> None:
        """Performs a later step: a refund, capture, dispute, cancellation or failed charge."""
        if step.name == "cancel":
            stripe._stripe("POST", f"/v1/payment_intents/{made['id']}/cancel")
            return
        charge = self._charge(stripe, made["id"])
        match step.name:
            case "refund" | "release":
                stripe._stripe("POST", "/v1/refunds", {"charge": charge})
            case "refund a part":
                stripe._stripe("POST", "/v1/refunds", {"charge": charge, "amount": 99})
            case "the refund fails":
                refund = stripe._stripe("GET", f"/v1/refunds?charge={charge}")["data"][0]["id"]
                stripe._call("POST", f"/_sandbox/refunds/{refund}/status", json={"status": "failed"})
            case "capture":
                self._ask(stripe, f"/v1/charges/{charge}/capture", {}, f"capture-{charge}")
            case "capture a part":
                stripe._stripe("POST", f"/v1/payment_intents/{made['id']}/capture", {"amount_to_capture": PART})
            case "dispute":
                self._dispute(stripe, charge)
            case "inquire":
                self._dispute(stripe, charge, status="warning_needs_response")
            case "dispute after all" | "win":
                dispute = stripe._stripe("GET", f"/v1/disputes?charge={charge}")["data"][0]["id"]
                self._decide(stripe, dispute, "won" if step.name == "win" else "needs_response")
            case "dispute and lose":
                self._decide(stripe, self._dispute(stripe, charge), "lost")
            case "bounce":
                stripe._call("POST", f"/_sandbox/charges/{charge}/status", json={"status": "failed"})
            case _:
                raise ValueError(step.name)

    @staticmethod
    def _dispute(stripe: Sandbox, charge: str, **fields) -> str:
        return stripe._call("POST", f"/_sandbox/charges/{charge}/disputes", json=fields)["id"]

    @staticmethod
    def _decide(stripe: Sandbox, dispute: str, status: str) -> None:
        stripe._call("POST", f"/_sandbox/disputes/{dispute}/status", json={"status": status})

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
            assert page["has_more"], f"no charge for {id}"
            path = f"/v1/charges?limit=100&starting_after={page['data'][-1]['id']}"


NAMED = {"owner[name]": "Jenny Rosen", "owner[email]": "jenny@example.com"}
NO_RETURN = {"redirect[return_url]": None}
CARD = NO_RETURN | {"card[exp_month]": 12, "card[exp_year]": 2034, "card[cvc]": 123}
SOFORT = {"sofort[country]": "DE"}
SUCCEEDING = SOFORT | {"owner[name]": "succeeding_charge"}
FAILING = SOFORT | {"owner[name]": "failing_charge"}
DEBIT = NO_RETURN | NAMED
HOLD = {"capture": "false"}
MANUAL = {"payment_method": "pm_card_visa", "capture_method": "manual"}


def card(number: str) -> dict:
    return CARD | {"card[number]": number}


def debit(iban: str) -> dict:
    return DEBIT | {"sepa_debit[iban]": iban}


VISA = card("4242424242424242")
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
    Kind("sofort", "authorise", "paid", SUCCEEDING),
    Kind("sofort", "authorise", "failed", FAILING),
    Kind("ideal", "authorise", "failed", {"owner[name]": "failing_charge"}),
    Kind("card", "nothing", "paid", VISA, is_kept=True),
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
    Kind("ideal", "authorise", "paid", then=(Step("refund", "refunded"),)),
    Kind("bancontact", "authorise", "paid", NAMED, then=(Step("refund a part", "partially_refunded"),)),
    Kind("sofort", "authorise", "paid", SUCCEEDING, then=(Step("bounce", "reversed"),)),
    Kind("card", "nothing", "paid", VISA, is_kept=True, then=(Step("dispute", "disputed"),)),
    Kind("card", "nothing", "paid", VISA, is_kept=True, then=(Step("dispute and lose", "reversed"),)),
    Kind("ideal", "authorise", "paid", is_intent=True, then=(Step("refund", "refunded"),)),
    Kind("ideal", "authorise", "paid", own={}),
    Kind("sofort", "authorise", "paid", SUCCEEDING, own={}),
    Kind("sofort", "authorise", "failed", FAILING, own={}),
    Kind("sofort", "authorise", "paid", SUCCEEDING, own={}, until="left_pending"),
    Kind("klarna", "authorise", "authorised", own=HOLD, then=(Step("capture", "paid"),)),
    Kind("klarna", "authorise", "authorised", own=HOLD, then=(Step("release", "cancelled"),)),
    Kind("card", "nothing", "paid", VISA, is_kept=True, then=(Step("dispute", "disputed"), Step("win", "paid"))),
    Kind("ideal", "authorise", "paid", then=(
        Step("inquire", "paid", "inquiry"), Step("dispute after all", "disputed"),
    )),
    Kind("card", "nothing", "paid", VISA, is_kept=True, then=(Step("inquire", "paid", "inquiry"),)),
    Kind("ideal", "authorise", "paid", then=(Step("refund", "refunded"), Step("the refund fails", "paid"))),
    Kind("eps", "authorise", "paid", NAMED, then=(
        Step("refund a part", "partially_refunded"), Step("the refund fails", "paid"),
    )),
    Kind("card", "nothing", "authorised", MANUAL, is_intent=True, then=(
        Step("capture a part", "paid"), Step("refund a part", "partially_refunded"),
    )),
    Kind("card", "nothing", "authorised", MANUAL, is_intent=True, then=(Step("cancel", "cancelled"),)),
    Kind("card", "nothing", "authorised", {"payment_method": "pm_card_visa"}, is_setup=True),
]
