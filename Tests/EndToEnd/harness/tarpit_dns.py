"""A name server that ignores queries for some zones, and programs that use it."""

import shutil
import socket
import struct
import subprocess
import threading
from pathlib import Path

# A dedicated address in 127.0.0.0/8, because `/etc/resolv.conf` supports only port 53.
ADDRESS = "127.53.53.53"


def obstacle() -> str | None:
    """Returns why programs cannot use this name server here, or `None` if they can."""
    if not shutil.which("unshare"):
        return "unshare(1) is missing"
    done = subprocess.run(
        ["unshare", "-m", "mount", "--bind", "/etc/hosts", "/etc/resolv.conf"], capture_output=True, text=True
    )
    if done.returncode != 0:
        return f"a mount namespace of its own needs root: {done.stderr.strip()}"
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((ADDRESS, 53))
    except OSError as error:
        return f"{ADDRESS}:53 cannot be bound: {error}"
    return None


class TarpitDNS:
    """Resolves every name to 127.0.0.1, except names below the `silent` zones, which get no answer.

    `asked` counts the queries for each name, including unanswered ones.
    """

    def __init__(self, silent: tuple[str, ...], folder: Path):
        self.silent = silent
        self.asked: dict[str, int] = {}
        self._config = folder / "resolv.conf"
        # A query for a silent zone fails after 40 s. By default it does after ten.
        self._config.write_text(f"nameserver {ADDRESS}\noptions timeout:20 attempts:2\n")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((ADDRESS, 53))
        self._open = True
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def command(self, *program: str) -> list[str]:
        """Returns the command that starts `program` with an `/etc/resolv.conf` that names only this server."""
        script = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
        return ["unshare", "-m", "sh", "-c", script, str(self._config), *program]

    def asked_below(self, zone: str) -> int:
        return sum(1 for name in list(self.asked) if name.endswith("." + zone))

    def close(self) -> None:
        self._open = False
        # Closing a socket does not wake the thread that reads from it, so a datagram does.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as waker:
            waker.sendto(b"", (ADDRESS, 53))
        self._thread.join(5)
        self._socket.close()

    def _serve(self) -> None:
        while self._open:
            question, sender = self._socket.recvfrom(512)
            answer = self._answer(question) if question else None
            if answer:
                self._socket.sendto(answer, sender)

    def _answer(self, question: bytes) -> bytes | None:
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1 : at + 1 + question[at]].decode("ascii", "replace").lower())
            at += 1 + question[at]
        name = ".".join(labels)
        self.asked[name] = self.asked.get(name, 0) + 1
        if any(name == zone or name.endswith("." + zone) for zone in self.silent):
            return None
        (kind,) = struct.unpack("!H", question[at + 1 : at + 3])
        # RFC 1035 §4: the query's ID and question are repeated, with one address for type A and none for other
        # types.
        found = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + socket.inet_aton("127.0.0.1") if kind == 1 else b""
        head = question[:2] + struct.pack("!HHHHH", 0x8180, 1, 1 if found else 0, 0, 0)
        return head + question[12 : at + 5] + found
