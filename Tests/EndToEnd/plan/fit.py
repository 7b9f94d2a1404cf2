"""What each unit of work costs, from what whole clusters took of several traffics."""

# What a role does, by what is counted; `up` is a process that is up, `wakes` how often one is woken for work.
PARTS: dict[str, tuple[str, ...]] = {
    "api": ("up", "wakes", "payments", "events"),
    "worker": ("up", "wakes", "polls", "events"),
    "notifier": ("up", "wakes", "events", "deliveries"),
    "gateway": ("up", "wakes", "events", "frames", "arrivals"),
    "redis": ("up", "wakes", "payments", "polls", "events", "deliveries", "arrivals"),
}
# What a role is woken for.
WOKEN: dict[str, tuple[str, ...]] = {
    "api": ("payments",), "worker": ("polls",), "notifier": ("deliveries",), "gateway": ("events",),
    "redis": ("payments", "polls", "events", "deliveries"),
}
# Who hears of every event in each of his processes.
HEARING = ("api", "notifier", "gateway")
# Enough for these few unknowns to settle.
_ROUNDS = 4_000
# Among which the wakes of a process are looked for.
_WAKES_MAX = (60, 120, 250, 500, 1000, 2000)

# Units in a second and cores, of one run.
Sample = tuple[dict[str, float], float]


def wakes(role: str, rates: dict[str, float], processes: int, most: float) -> float:
    """How often processes are woken: by each piece of work while there is little, by several at once when there is much.

    As many times as there is work, up to `most` a second and process.
    """
    each = sum(rates[name] for name in WOKEN[role]) / processes
    if role == "notifier":
        # All receivers of an event are told of it together.
        each = min(each, rates["events"] / processes)
    return processes * each * most / (each + most)


def costs(role: str, samples: list[Sample]) -> dict[str, float]:
    """Cores of each unit a second, none below zero, with the least sum of squares of relative errors.

    Coordinate by coordinate: each in turn is set to what is best while the others stay.
    """
    names = PARTS[role]
    rows = [[rates[name] / taken for name in names] for rates, taken in samples]
    found = [0.0] * len(names)
    for _ in range(_ROUNDS):
        for place in range(len(names)):
            above = below = 0.0
            for row in rows:
                rest = 1 - sum(value * cost for value, cost in zip(row, found)) + row[place] * found[place]
                above += row[place] * rest
                below += row[place] ** 2
            found[place] = max(0.0, above / below) if below else 0.0
    return dict(zip(names, found))


def ratios(found: dict[str, float], samples: list[Sample]) -> list[float]:
    """What the costs say of each run, as a multiple of what it took."""
    return [sum(cost * rates[name] for name, cost in found.items()) / taken for rates, taken in samples]


def fitted(runs: list[tuple[int, dict[str, float], dict[str, float]]]) -> tuple[float, dict[str, dict[str, float]]]:
    """The wakes that explain most, and each role's costs; a run is its processes of a role, its rates, its cores."""
    best = None
    for most in _WAKES_MAX:
        table, error = {}, 0.0
        for role in PARTS:
            samples = [counted(role, *run, most) for run in runs]
            table[role] = costs(role, samples)
            error += sum((ratio - 1) ** 2 for ratio in ratios(table[role], samples))
        if best is None or error < best[0]:
            best = (error, most, table)
    return best[1], best[2]


def counted(role: str, processes: int, rates: dict[str, float], cores: dict[str, float], most: float) -> Sample:
    """A role's units in a run."""
    # Redis is one, for all four roles.
    units = rates | {"up": processes * (4 if role == "redis" else 1)}
    if role in HEARING:
        units["events"] *= processes
    units["wakes"] = wakes(role, units, 1 if role == "redis" else processes, most)
    return units, cores[role]
