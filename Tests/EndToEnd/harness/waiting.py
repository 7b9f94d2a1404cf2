"""Waits for conditions instead of fixed times."""

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

# The shortest and the longest pause. In between, a pause is a tenth of the time waited so far. So a condition is
# noticed at most 10 % late, and a wait does not keep the queried process busy: most waits of a run are for the API,
# and each query costs 10 ms of CPU time.
PAUSE_S = 0.03
LONGEST_PAUSE_S = 0.5


def wait_until(
    fact: Callable[[], Value], timeout_s: float, what: str, pause_s: float | None = None
) -> Value:
    """Calls `fact` until its result is truthy and returns it; fails with `what` after the timeout.

    Unless the time is what the test checks, the timeout is a minute: a passed test does not wait for it, and a busy
    machine may need it. `pause_s` sets a fixed pause between two calls.
    """
    start = time.monotonic()
    end = start + timeout_s
    while True:
        value = fact()
        if value:
            return value
        if time.monotonic() >= end:
            raise AssertionError(f"{what}: not within {timeout_s:g} s; last seen: {value!r}")
        time.sleep(min(max(PAUSE_S, (time.monotonic() - start) / 10), LONGEST_PAUSE_S) if pause_s is None else pause_s)
