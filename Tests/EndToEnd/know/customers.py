"""The simulated customers: their payment methods, and the delays of the customers and their banks."""

import random
from dataclasses import dataclass
from math import exp, log

from chaos.kinds import DEBIT, NAMED, SOFORT, Kind

# The longest delay as a multiple of the median. Longer ones are cut, so that a run ends.
LONGEST = 1.75
LATE = {"owner[name]": "pending_charge"}


@dataclass(frozen=True)
class Habit:
    """A payment method, its percentage of all payments, and the payment state after the customer's action.

    act_s: the median delay of the customers' action in seconds; `None` if they need not act after the order.
    days: the median delay of the banks in days, before the action for a transfer and after it for a debit.
    late: the payment state after the bank's response to a charge, if that takes days.
    """

    kind: Kind
    share: int
    word: str | None
    act_s: float | None = None
    days: float | None = None
    late: str | None = None


HABITS = [
    Habit(Kind("ideal", "authorise", "paid"), 30, "authorised", act_s=30),
    Habit(Kind("bancontact", "authorise", "paid", NAMED), 10, "authorised", act_s=30),
    Habit(Kind("ideal", "authorise", "paid", is_intent=True), 25, "paid", act_s=30),
    Habit(Kind("ideal", "refuse", "failed"), 5, "failed", act_s=20),
    Habit(Kind("multibanco", "pay", "paid", NAMED), 10, "authorised", days=1),
    Habit(Kind("sofort", "authorise", "paid", SOFORT | LATE), 10, "authorised", act_s=30, days=1, late="paid"),
    Habit(Kind("sepa_debit", "nothing", "paid", DEBIT | LATE | {"sepa_debit[iban]": "DE89370400440532013000"}), 6,
          None, days=1, late="paid"),
    Habit(Kind("sepa_debit", "nothing", "failed", DEBIT | LATE | {"sepa_debit[iban]": "DE89370400440532013000"}), 4,
          None, days=1, late="failed"),
]


@dataclass(frozen=True)
class Plan:
    """One payment, with the time of its order and the delays of its later steps in seconds."""

    number: int
    habit: Habit
    order_s: float
    act_s: float | None
    answer_s: float | None


def plans(count: int, seed: int, orders_s: float, hurry: float, day_s: float) -> list[Plan]:
    """Returns `count` payments in the shares of the habits, ordered within `orders_s`.

    The same seed gives the same payments. hurry: the factor by which customers act faster than people. day_s: the
    duration of a bank's day in seconds.
    """
    chance = random.Random(seed)

    def taken(median: float) -> float:
        # A log-normal distribution, as for the delays of people: many near the median, few far beyond it.
        return min(exp(chance.gauss(log(median), 0.5)), LONGEST * median)

    chosen = [habit for habit in HABITS for _ in range(habit.share)]
    row = []
    for number in range(count):
        # This step size reaches every habit even in a small run.
        habit = chosen[(number * 37) % len(chosen)]
        act = taken(habit.act_s) / hurry if habit.act_s else None
        waited = taken(habit.days) * day_s if habit.days else None
        if habit.late is None and waited:
            act, waited = waited, None
        answer = (act or 0) + waited if waited else None
        row.append(Plan(number, habit, chance.uniform(0, orders_s), act, answer))
    return row
