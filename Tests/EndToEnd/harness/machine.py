"""A throwaway machine with systemd, made of this one: all changes are discarded when it ends.

It is an overlay over this machine's files in separate namespaces (processes, mounts, network, System V IPC), in
which systemd runs as process 1. Its network has only the loopback interface.
"""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from .waiting import wait_until

# Puts the machine into its own control group, so that it leaves no control groups behind. $1 is that group.
ENTER = r"""
group=$1
shift
mkdir "$group"
echo $$ > "$group/cgroup.procs"
exec "$@"
"""
# Builds and boots the machine, from the outermost step inwards. $1 is a working folder.
BOOT = r"""
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
root=$1/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$root"
mount -t proc proc "$root/proc"
# Read-only: so systemd knows that the devices are none of its business.
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do
    touch "$root/dev/$name"
    mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=0666
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs tmpfs "$root/dev/shm"
ip link set lo up
: > "$root/etc/machine-id"
# Not chroot, below which nobody may have a name space of users.
cd "$root"
mkdir -p .around
pivot_root . .around
umount -l /.around
rmdir /.around
# What systemd mounts for a unit is seen by it.
mount --make-rshared /
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=basic.target --log-target=journal --show-status=no
"""
SPACES = ["--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup"]
START_S = 120


class Machine:
    """Runs commands on the machine as root."""

    def __init__(self):
        self._folder = tempfile.mkdtemp(prefix="poller-machine-")
        self._group = group_root() / Path(self._folder).name
        command = ["sh", "-ec", ENTER, "enter", str(self._group)]
        command += ["unshare", *SPACES, "--fork", "--kill-child", "bash", "-c", BOOT, "boot", self._folder]
        self._outer = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self._init = 0

    def wait(self) -> "Machine":
        """Waits until the basic services run; skips the test if this host cannot create the machine."""
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if self._outer.poll() is not None:
                said = self._outer.stdout.read().decode(errors="replace")
                self.close()
                pytest.skip(f"no machine with systemd can be made here: {said.strip()[-300:]}")
            children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children").read_text().split()
            if children:
                self._init = int(children[0])
                state = self.run("systemctl", "is-active", "basic.target", check=False).stdout.strip()
                if state == "active":
                    return self
            time.sleep(0.2)
        self.close()
        raise AssertionError(f"systemd has not started within {START_S} s")

    def run(self, *command: str, check: bool = True, timeout_s: float = 120, text: str | None = None) -> subprocess.CompletedProcess:
        """Runs a command and returns its result; fails if it fails, unless `check` is false."""
        enter = ["nsenter", "-t", str(self._init), "-m", "-p", "-n", "-i", "-u", "-C", "-r", "-w"]
        clean = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/root", "SYSTEMD_PAGER": ""}
        done = subprocess.run(
            [*enter, *command], env=clean, input=text, capture_output=True, text=True, timeout=timeout_s
        )
        assert not check or done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def shell(self, script: str, **options) -> str:
        """Returns the output of a shell script."""
        return self.run("sh", "-ec", script, **options).stdout

    def put(self, file: Path, path: str) -> None:
        """Copies a file from the host to the machine."""
        shutil.copy(file, f"/proc/{self._init}/root{path}")

    def journal(self, unit: str) -> str:
        return self.run("journalctl", "--no-pager", "-o", "cat", "-u", unit, check=False).stdout

    def close(self) -> None:
        if self._outer.poll() is None:
            # Ending the namespace's first process ends all others, and the end of the last one removes its mounts.
            self._outer.kill()
        self._outer.wait(60)
        self._outer.stdout.close()
        os.rmdir(self._folder)
        # From the leaves up; the remaining groups have no processes.
        for folder, _, _ in os.walk(self._group, topdown=False):
            wait_until(lambda: is_removed(folder), 60, f"{folder} is empty", pause_s=0.05)


def group_root() -> Path:
    """Returns the root of the version 2 control groups; skips the test if there are none."""
    for line in Path("/proc/mounts").read_text().splitlines():
        if line.split()[2] == "cgroup2":
            return Path(line.split()[1])
    pytest.skip("no control groups here: the package was not installed anywhere")


def is_removed(folder: str) -> bool:
    try:
        os.rmdir(folder)
    except OSError:
        return False
    return True


def machine() -> Machine:
    """Returns a started machine; skips the test with a reason if none can be created."""
    if os.getuid() != 0:
        pytest.skip("a machine of its own needs root: the package was not installed anywhere")
    for program in ("unshare", "nsenter", "ip"):
        if not shutil.which(program):
            pytest.skip(f"no {program} here: the package was not installed anywhere")
    if not Path("/lib/systemd/systemd").exists():
        pytest.skip("no systemd here: the package was not installed anywhere")
    return Machine().wait()
