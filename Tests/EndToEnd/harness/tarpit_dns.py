"""A name server that answers for some zones and is silent for others, and programs that ask it."""

import shutil
import socket
import struct
import subprocess
import threading
from pathlib import Path

# Of 127.0.0.0/8, and of nobody else: `/etc/resolv.conf` can name no port but 53.
ADDRESS = "127.53.53.53"


def obstacle() -> str | None:
    """Why programs cannot be made to ask a name server of ours here; None when they can."""
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
    """Says 127.0.0.1 for every name, but nothing at all for those below the `silent` zones.

    `asked` counts the questions for each name, silent ones too.
    """

    def __init__(self, silent: tuple[str, ...], folder: Path):
        self.silent = silent
        self.asked: dict[str, int] = {}
        self._config = folder / "resolv.conf"
        # The system's own defaults, written out: ten seconds until a silent zone is given up.
        self._config.write_text(f"nameserver {ADDRESS}\noptions timeout:5 attempts:2\n")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((ADDRESS, 53))
        self._open = True
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def command(self, *program: str) -> list[str]:
        """`program`, to be started where `/etc/resolv.conf` names this server and none else."""
        script = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
        return ["unshare", "-m", "sh", "-c", script, str(self._config), *program]

    def asked_below(self, zone: str) -> int:
        return sum(1 for name in list(self.asked) if name.endswith("." + zone))

    def close(self) -> None:
        self._open = False
        # A closed socket does not wake the thread that reads from it; a datagram does.
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
        # RFC 1035 §4: the id and the question as they came, one address for A and none for others.
        found = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + socket.inet_aton("127.0.0.1") if kind == 1 else b""
        head = question[:2] + struct.pack("!HHHHH", 0x8180, 1, 1 if found else 0, 0, 0)
        return head + question[12 : at + 5] + found
