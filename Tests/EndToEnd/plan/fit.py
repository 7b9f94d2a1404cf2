"""The cost of each unit of work, fitted to the CPU time of whole clusters under several traffics."""

# The counted units of each role's work. `up` is a running process, and `wakes` are the times a process wakes for work.
PARTS: dict[str, tuple[str, ...]] = {
    "api": ("up", "wakes", "payments", "events"),
    "worker": ("up", "wakes", "polls", "events"),
    "notifier": ("up", "wakes", "events", "deliveries"),
    "gateway": ("up", "wakes", "events", "frames", "arrivals"),
    "redis": ("up", "wakes", "payments", "polls", "events", "deliveries", "arrivals"),
}
# The units that wake a process of each role.
WOKEN: dict[str, tuple[str, ...]] = {
    "api": ("payments",), "worker": ("polls",), "notifier": ("deliveries",), "gateway": ("events",),
    "redis": ("payments", "polls", "events", "deliveries"),
}
# The roles in which every process receives every event.
HEARING = ("api", "notifier", "gateway")
# The number of iterations, enough for these few unknowns to converge.
_ROUNDS = 4_000
# The candidates for the most wakes of a process per second.
_WAKES_MAX = (60, 120, 250, 500, 1000, 2000)

# The units per second and the cores of one run.
Sample = tuple[dict[str, float], float]


def wakes(role: str, rates: dict[str, float], processes: int, most: float) -> float:
    """Returns the number of wakes per second of all processes.

    Under low load each piece of work wakes a process. Under high load one wake serves several pieces. The number
    approaches `most` per second and process.
    """
    each = sum(rates[name] for name in WOKEN[role]) / processes
    if role == "notifier":
        # The deliveries of an event to all its receivers need one wake.
        each = min(each, rates["events"] / processes)
    return processes * each * most / (each + most)


def costs(role: str, samples: list[Sample]) -> dict[str, float]:
    """Returns the cores per unit and second, none negative, with the least sum of squared relative errors.

    The method is coordinate descent: each cost in turn is set to its optimum while the others stay fixed.
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
    """Returns each run's CPU time predicted by the costs, divided by the measured one."""
    return [sum(cost * rates[name] for name, cost in found.items()) / taken for rates, taken in samples]


def fitted(runs: list[tuple[int, dict[str, float], dict[str, float]]]) -> tuple[float, dict[str, dict[str, float]]]:
    """Returns the best-fitting wake limit and each role's costs.

    A run has the number of processes of each role, the rates, and the cores.
    """
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
    """Returns a role's units per second in a run, and its cores."""
    # One Redis serves the processes of all four roles.
    units = rates | {"up": processes * (4 if role == "redis" else 1)}
    if role in HEARING:
        units["events"] *= processes
    units["wakes"] = wakes(role, units, 1 if role == "redis" else processes, most)
    return units, cores[role]
