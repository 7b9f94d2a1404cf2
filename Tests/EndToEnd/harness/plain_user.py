"""A user of this machine without privileges, with its own home and checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .containers import ROOT

# The UID of Linux' `nobody` user.
UID = 65534

# The tests' Python may be in a folder that only root can read. The script makes it reachable in a separate mount
# namespace. $1 is its folder, $2 the first closed folder above it, or empty.
OPENED = r"""
set -e
python=$1 closed=$2
shift 2
if [ -n "$closed" ]; then
    kept=$(mktemp -d)
    mount --bind "$python" "$kept"
    mount -t tmpfs -o mode=755 tmpfs "$closed"
    mkdir -p "$python"
    mount --bind "$kept" "$python"
    umount "$kept"
    rmdir "$kept"
fi
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs "$@"
"""


class PlainUser:
    """Runs commands in `checkout` with only a home and the system's programs."""

    def __init__(self, folder: Path):
        if os.getuid() != 0 or not shutil.which("setpriv") or not shutil.which("unshare"):
            pytest.skip("needs root, unshare and setpriv to become somebody without: nothing was run without rights")
        self.home = folder / "home"
        self.checkout = self.home / "poller"
        files = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            capture_output=True, text=True, check=True,
        ).stdout.split("\0")
        for name in filter(None, files):
            if (ROOT / name).exists():
                (self.checkout / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.checkout / name)
        (self.checkout / ".venv").symlink_to(Path(sys.prefix))
        for path in [self.home, *self.home.rglob("*")]:
            os.lchown(path, UID, UID)
        for parent in self.home.parents:
            if parent.stat().st_mode & 0o001 == 0:
                parent.chmod(parent.stat().st_mode | 0o011)

    def run(self, *command: str, timeout_s: float = 120, path: str = "/usr/local/bin:/usr/bin:/bin", **env: str) -> subprocess.CompletedProcess:
        """Runs a command with exactly this environment and returns its result."""
        python = Path(sys.base_prefix)
        closed = [folder for folder in reversed(python.parents) if folder.stat().st_mode & 0o001 == 0]
        start = ["unshare", "-m", "sh", "-c", OPENED, "opened", str(python), str(closed[0]) if closed else ""]
        env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"} | env
        return subprocess.run(
            [*start, "/usr/bin/env", f"PATH={path}", *command], cwd=self.checkout, env=env, capture_output=True, text=True, timeout=timeout_s,
            start_new_session=True,
        )
