"""Runs all scenarios in turn, each time with another seed, until enough changes are recorded or the time is over."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from harness.cluster import previous_programs
from harness.way import Island

from .figures import Figures
from .run import Plan, Run


def scenarios(sources: int) -> dict[str, Plan]:
    """Returns the plans of a long run by name, without those that this machine does not support."""
    plan = Plan(sources=sources, told_of=10, is_long=True, fsync="everysec")
    found = {
        "one Redis": plan,
        "far away": replace(plan, store="distant"),
        # Writes wait for both replicas, because Sentinel may promote either one.
        "Sentinel": replace(plan, store="sentinel", wait_replicas=2),
        "Cluster": replace(plan, store="cluster", wait_replicas=1),
    }
    found["more parts"] = replace(plan, partitions=2, split_to=64)
    if Island.can_be_made():
        found["old master"] = replace(plan, store="divided", wait_replicas=2)
    if previous := previous_programs():
        found["upgrade"] = replace(plan, previous=previous)
    return found


@dataclass
class Sum:
    """The totals of one scenario's runs."""

    # The fields that are summed over all scenarios.
    COUNTED = ("runs", "minutes", "recorded", "lost", "doubled", "disordered", "false")

    scenario: str
    runs: int = 0
    minutes: float = 0
    recorded: int = 0
    lost: int = 0
    doubled: int = 0
    disordered: int = 0
    false: int = 0

    def add(self, figures: Figures, seconds: float) -> None:
        self.runs += 1
        self.minutes += seconds / 60
        for name in ("recorded", "lost", "doubled", "disordered", "false"):
            setattr(self, name, getattr(self, name) + getattr(figures, name))

    def row(self) -> str:
        pace = self.recorded / self.minutes if self.minutes else 0
        return (
            f"{self.scenario:<12}{self.runs:>6}{self.minutes:>9.1f}{self.recorded:>12,}{pace:>12,.0f}"
            f"{self.lost:>9}{self.doubled:>9}{self.disordered:>14}{self.false:>7}"
        )


HEAD = (
    f"{'scenario':<12}{'runs':>6}{'minutes':>9}{'recorded':>12}{'a minute':>12}"
    f"{'missing':>9}{'doubled':>9}{'out of order':>14}{'false':>7}"
)


class LongRun:
    """Runs the scenarios in turn.

    `minutes` is the duration of the faults in each run.
    """

    def __init__(
        self,
        changes: int,
        hours: float,
        minutes: float,
        seed: int,
        sources: int,
        say: Callable[[str], None],
    ):
        self._plans = scenarios(sources)
        self._sums = {name: Sum(name) for name in self._plans}
        self._changes, self._hours = changes, hours
        self._minutes, self._seed = minutes, seed
        self._say = say
        self.violations: list[str] = []

    def run(self) -> None:
        """Runs until enough changes are recorded or the time is over.

        The first round is always completed.
        """
        began = time.monotonic()
        number = 0
        while number < len(self._plans) or not self._is_enough(time.monotonic() - began):
            name = list(self._plans)[number % len(self._plans)]
            seed = self._seed + number
            self._say(f"{name}, seed {seed}")
            self._one(name, replace(self._plans[name], seed=seed, seconds=self._minutes * 60))
            number += 1

    def _is_enough(self, seconds: float) -> bool:
        recorded = sum(total.recorded for total in self._sums.values())
        if self._changes and recorded >= self._changes:
            return True
        return bool(self._hours) and seconds >= self._hours * 3600

    def _one(self, name: str, plan: Plan) -> None:
        run, began = Run(plan, say=self._say), time.monotonic()
        run.alone()
        self._sums[name].add(run.figures, time.monotonic() - began)
        # Only ten violations are printed per run, so that one run does not hide the next.
        for violation in run.violations[:10]:
            self._say(violation)
        self.violations += [f"{name}, seed {plan.seed}: {found}" for found in run.violations]
        self._say(self._sums[name].row())

    def text(self) -> str:
        """Returns a table with a row for each scenario and one for the totals."""
        whole = Sum("all")
        for part in self._sums.values():
            for name in Sum.COUNTED:
                setattr(whole, name, getattr(whole, name) + getattr(part, name))
        missing = [] if "upgrade" in self._sums else ["no upgrade: POLLER_PREVIOUS_BIN_DIR names no programs"]
        return "\n".join([HEAD, *(part.row() for part in self._sums.values()), whole.row(), *missing])

    def as_dict(self) -> list[dict]:
        return [asdict(part) for part in self._sums.values()]
