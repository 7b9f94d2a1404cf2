"""Who pays, with what, and how long they and their banks take."""

import random
from dataclasses import dataclass
from math import exp, log

from chaos.kinds import DEBIT, NAMED, SOFORT, Kind

# What takes longer than so many times the median is cut, so that a run ends.
LONGEST = 1.75
LATE = {"owner[name]": "pending_charge"}


@dataclass(frozen=True)
class Habit:
    """A way to pay, how many of a hundred payments are of it, and the word of the money once the customer has acted.

    act_s: how long half of the customers take until they act; None where they have by the time they order.
    days: how many days half of the banks take; those of a transfer before the act, those of a debit after it.
    late: the word of the money when the bank has answered a charge, where that takes days.
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
    """One payment: when it is ordered, and what happens to it how many seconds later."""

    number: int
    habit: Habit
    order_s: float
    act_s: float | None
    answer_s: float | None


def plans(count: int, seed: int, orders_s: float, hurry: float, day_s: float) -> list[Plan]:
    """`count` payments in the shares of the habits, ordered within `orders_s`, the same for the same seed.

    hurry: how many times faster than people the customers are; day_s: how long a day of a bank is.
    """
    chance = random.Random(seed)

    def taken(median: float) -> float:
        # As times of people are: many near the median, few far beyond it, and none for ever.
        return min(exp(chance.gauss(log(median), 0.5)), LONGEST * median)

    chosen = [habit for habit in HABITS for _ in range(habit.share)]
    row = []
    for number in range(count):
        # Every habit even in a small run.
        habit = chosen[(number * 37) % len(chosen)]
        act = taken(habit.act_s) / hurry if habit.act_s else None
        waited = taken(habit.days) * day_s if habit.days else None
        if habit.late is None and waited:
            act, waited = waited, None
        answer = (act or 0) + waited if waited else None
        row.append(Plan(number, habit, chance.uniform(0, orders_s), act, answer))
    return row
