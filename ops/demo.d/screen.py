"""The output of the demo."""

import os
import shlex
import sys
import threading


class Screen:
    """Prints a line for each step, with colours only on a terminal."""

    CODES = {"bold": "1", "dim": "2", "green": "32", "cyan": "36", "yellow": "33", "red": "31"}

    def __init__(self) -> None:
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        self._coloured = sys.stdout.isatty() and not plain
        self._lock = threading.Lock()

    def paint(self, text: str, colour: str) -> str:
        return f"\033[{self.CODES[colour]}m{text}\033[0m" if self._coloured else text

    def line(self, text: str = "") -> None:
        with self._lock:
            print(text, flush=True)

    def act(self, text: str) -> None:
        self.line()
        self.line(self.paint(text, "bold"))

    def command(self, command: list[str]) -> None:
        self.line(self.paint("  $ " + shlex.join(command), "dim"))
