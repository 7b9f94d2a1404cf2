"""Splits a store into more partitions under load, while the command that does it is killed several times."""

import random
import re
import subprocess
import threading

from harness.cluster import Cluster, program

# The number of kills before the command may finish.
KILLS = 4


class Splitting:
    """Restarts every process, so that it knows the planned partitions, and then splits the store in a thread."""

    def __init__(self, cluster: Cluster, partitions: int, seed: int):
        self._cluster = cluster
        self._command = [program("pollerd"), "repartition", str(partitions)]
        self._chance = random.Random(seed)
        self._output = ""
        self._errors: list[BaseException] = []
        begun = self._run("--wait", "0s")
        assert begun.returncode == 78 and "to be restarted" in begun.stdout, begun
        for role in [*cluster.apis, *cluster.workers, *cluster.notifiers]:
            assert role.terminate() == 0, role.tail()
            role.start().wait_ready(timeout_s=60)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _run(self, *options: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [*self._command, *options], env=self._cluster.env, capture_output=True, text=True, timeout=240
        )

    def _work(self) -> None:
        try:
            for _ in range(KILLS):
                process = subprocess.Popen(
                    self._command, env=self._cluster.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
                )
                try:
                    process.wait(self._chance.uniform(0.5, 4))
                except subprocess.TimeoutExpired:
                    process.kill()
                self._output += process.communicate()[0]
            done = self._run()
            self._output += done.stdout
            assert done.returncode == 0, done
        except BaseException as error:
            self._errors.append(error)

    def end(self) -> dict[str, int]:
        """Waits for the end of the split. Returns the numbers of moved items and lanes that the commands printed.

        A killed command may not have printed all that it moved.
        """
        self._thread.join(300)
        assert not self._thread.is_alive(), "the store is still being split"
        if self._errors:
            raise self._errors[0]
        lines = re.findall(r"(\d+) items and (\d+) lanes moved", self._output)
        items, lanes = (sum(int(line[at]) for line in lines) for at in (0, 1))
        return {"items": items, "lanes": lanes}
