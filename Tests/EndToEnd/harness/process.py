"""A real process under test."""

import os
import re
import signal
import subprocess
from pathlib import Path

from .waiting import wait_until


class Process:
    """A child process in a separate session; its output goes to files, so a full pipe cannot block it."""

    def __init__(
        self, name: str, command: list[str], logs: Path, env: dict[str, str] | None = None
    ):
        self.name = name
        self.command = command
        self.logs = logs
        self.env = env or {}
        # Additional file descriptors that the process inherits.
        self.inherited: tuple[int, ...] = ()
        self.starts = 0
        self._child: subprocess.Popen | None = None
        self._sessions: list[int] = []

    def start(self) -> "Process":
        """Starts the process, or restarts it with the same command and environment."""
        assert not self.running, f"{self.name} is running already"
        self.starts += 1
        self.out = self.logs / f"{self.name}.{self.starts}.out"
        self.err = self.logs / f"{self.name}.{self.starts}.err"
        # The caller's configuration must not reach the process under test.
        inherited = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("POLLER_", "STRIPE_", "OTEL_"))
        }
        # Private, because pollerd writes a password only to files that other users cannot read.
        with open(self.out, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as out, open(self.err, "wb") as err:
            self._child = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=inherited | self.env,
                start_new_session=True,
                pass_fds=self.inherited,
            )
        self._sessions.append(self._child.pid)
        return self

    @property
    def pid(self) -> int:
        assert self._child is not None, f"{self.name} was never started"
        return self._child.pid

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    @property
    def exit_status(self) -> int | None:
        """The exit status; `None` while the process runs, -N if signal N ended it."""
        return None if self._child is None else self._child.poll()

    def line(self, pattern: str, timeout_s: float = 60) -> re.Match:
        """Waits for a line on stdout that matches the pattern; fails if the process ends."""

        def look() -> re.Match | None:
            ended = not self.running
            found = re.search(pattern, self.stdout(), re.MULTILINE)
            if not found and ended:
                raise AssertionError(
                    f"{self.name} ended with {self.exit_status} before printing /{pattern}/\n"
                    + self.tail()
                )
            return found

        return wait_until(look, timeout_s, f"{self.name} prints /{pattern}/")

    def stdout(self) -> str:
        return self._written(self.out)

    def stderr(self) -> str:
        return self._written(self.err)

    def _written(self, path: Path) -> str:
        """Returns the lines of a file; without the last one, if a running process has written only a part of it."""
        is_running = self.running
        text = path.read_text(errors="replace")
        return text[: text.rfind("\n") + 1] if is_running else text

    def tail(self, lines: int = 40) -> str:
        """Returns the last lines of the process's output files, for a failure report."""
        parts = []
        for path in sorted(self.logs.glob(f"{self.name}.*.*")):
            text = path.read_text(errors="replace").splitlines()
            if text:
                cut = [f"… {len(text) - lines} lines before"] if len(text) > lines else []
                parts.append("\n".join([f"--- {path.name}", *cut, *text[-lines:]]))
        return "\n".join(parts)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill9(self) -> None:
        """Kills the process as a power cut would, and waits until it has ended."""
        self.signal(signal.SIGKILL)
        self._child.wait(60)

    def freeze(self) -> None:
        """Stops the process with SIGSTOP.

        The effect resembles a long garbage collection, heavy swapping or a paused machine.
        """
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def terminate(self, timeout_s: float = 60) -> int:
        """Sends SIGTERM, waits for the drain, and returns the exit status."""
        self.signal(signal.SIGTERM)
        return self._child.wait(timeout_s)

    def ask_to_end(self) -> None:
        """Sends SIGTERM without waiting."""
        if self.running:
            self.thaw()
            self.signal(signal.SIGTERM)

    def end(self, grace_s: float = 20) -> None:
        """Ends the process and its descendants in any state, by force after the grace period."""
        if self.running:
            self.ask_to_end()
            try:
                self._child.wait(grace_s)
            except subprocess.TimeoutExpired:
                pass
        for pid in self.leftovers():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if self._child is not None:
            self._child.wait(60)

    def leftovers(self) -> list[int]:
        """Returns the living processes that this process or its descendants started.

        They are found by session, which none of them leaves, so a child in another process group is found too.
        """
        listed = subprocess.run(["ps", "-eo", "pid=,stat="], capture_output=True, text=True).stdout
        found = []
        for line in listed.splitlines():
            pid, state = line.split()[:2]
            try:
                if not state.startswith("Z") and os.getsid(int(pid)) in self._sessions:
                    found.append(int(pid))
            except (ProcessLookupError, PermissionError):
                continue
        return found
