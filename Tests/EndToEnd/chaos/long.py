"""Every scenario in turn, with another seed each time, until so many changes are on record."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from harness.cluster import previous_programs
from harness.way import Island

from .figures import Figures
from .run import Plan, Run


def scenarios(sources: int) -> dict[str, Plan]:
    """What a long run does in turn; one that cannot be had here is missing."""
    plan = Plan(sources=sources, told_of=10, is_long=True, fsync="everysec")
    found = {
        "one Redis": plan,
        "far away": replace(plan, store="distant"),
        # For both replicas: either may be promoted, whichever answered first.
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
    """What the runs of one scenario came to."""

    # Everything that can be added up.
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
    """Goes round the scenarios; `minutes` is how long one of them has faults before the next comes."""

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
        """Until enough is on record or the time is over; the first round is always whole."""
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
        # Of each run some: those of one must not hide those of the next.
        for violation in run.violations[:10]:
            self._say(violation)
        self.violations += [f"{name}, seed {plan.seed}: {found}" for found in run.violations]
        self._say(self._sums[name].row())

    def text(self) -> str:
        """A row for each scenario, and all of them together."""
        whole = Sum("all")
        for part in self._sums.values():
            for name in Sum.COUNTED:
                setattr(whole, name, getattr(whole, name) + getattr(part, name))
        missing = [] if "upgrade" in self._sums else ["no upgrade: POLLER_PREVIOUS_BIN_DIR names no programs"]
        return "\n".join([HEAD, *(part.row() for part in self._sums.values()), whole.row(), *missing])

    def as_dict(self) -> list[dict]:
        return [asdict(part) for part in self._sums.values()]
