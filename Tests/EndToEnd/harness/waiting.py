"""Waiting for facts, never for time to pass."""

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

# Short against every figure the tests measure, long against the cost of asking once.
PAUSE_S = 0.02


def wait_until(
    fact: Callable[[], Value], timeout_s: float, what: str, pause_s: float = PAUSE_S
) -> Value:
    """Asks until the answer is truthy and gives it; fails, naming `what`, after the timeout."""
    end = time.monotonic() + timeout_s
    while True:
        value = fact()
        if value:
            return value
        if time.monotonic() >= end:
            raise AssertionError(f"{what}: not within {timeout_s:g} s; last seen: {value!r}")
        time.sleep(pause_s)
