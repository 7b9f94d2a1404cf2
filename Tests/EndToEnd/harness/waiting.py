"""Waiting for facts, never for time to pass."""

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

# The first pause, and the longest. Between them a pause is a twentieth of what was waited already: a fact is seen at most 5 %
# late, and a long wait does not keep the process that is asked busy.
PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.5


def wait_until(
    fact: Callable[[], Value], timeout_s: float, what: str, pause_s: float | None = None
) -> Value:
    """Asks until the answer is truthy and gives it; fails, naming `what`, after the timeout.

    `pause_s` fixes the pause between two questions.
    """
    start = time.monotonic()
    end = start + timeout_s
    while True:
        value = fact()
        if value:
            return value
        if time.monotonic() >= end:
            raise AssertionError(f"{what}: not within {timeout_s:g} s; last seen: {value!r}")
        time.sleep(min(max(PAUSE_S, (time.monotonic() - start) / 20), LONGEST_PAUSE_S) if pause_s is None else pause_s)
