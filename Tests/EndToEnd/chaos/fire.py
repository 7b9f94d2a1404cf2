"""Kills processes with SIGKILL during each step of a payment."""

import random
import threading
from collections import Counter

from harness.cluster import Cluster, Role
from harness.sandbox import Sandbox


class Fire:
    """Kills processes until `put_out` is called, and restarts each one immediately.

    Steps: `look` and `charge` kill a worker that waits for Stripe's response, in the case of `charge` after the charge
    was made. `webhook` and `mail` kill a notifier before the receiver has responded. `anywhere` kills any process at
    any time. `store` kills Redis, which keeps all acknowledged writes. The seed determines the order of the kills, but
    not the work that a kill interrupts.
    """

    STEPS = ("look", "charge", "charge", "webhook", "mail", "anywhere", "anywhere", "anywhere", "store")
    # The wait for a step in seconds, before the next step is selected.
    WAIT_S = 2

    def __init__(self, cluster: Cluster, seed: int):
        self.kills: Counter = Counter()
        self._cluster = cluster
        self._stripe = Sandbox(cluster.sandbox.url)
        self._chance = random.Random(seed)
        self._out = threading.Event()
        # By step: the event that is set when a process reaches it, and the process to kill then.
        self._armed: dict[str, tuple[threading.Event, Role]] = {}
        self._lock = threading.Lock()
        self._failure: Exception | None = None
        cluster.webhook.receipts._listener = lambda _: self._reached("webhook")
        cluster.mail.receipts._listener = lambda _: self._reached("mail")
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def put_out(self) -> Counter:
        """Stops the kills, after the last process has restarted.

        Returns the number of kills by step and process.
        """
        self._out.set()
        self._thread.join(300)
        assert not self._thread.is_alive()
        # A thread that failed early has killed too little to prove anything.
        if self._failure:
            raise self._failure
        return self.kills

    def _run(self) -> None:
        try:
            self._burn()
        except Exception as failure:
            self._failure = failure

    def _burn(self) -> None:
        cluster = self._cluster
        while not self._out.wait(self._chance.uniform(0.1, 0.8)):
            step = self._chance.choice(self.STEPS)
            match step:
                case "look" | "charge":
                    self._in_a_request(step, self._chance.choice(cluster.workers))
                case "webhook" | "mail":
                    self._in_a_delivery(step, self._chance.choice(cluster.notifiers))
                case "anywhere":
                    roles = [*cluster.workers, *cluster.notifiers, *cluster.apis, cluster.taker]
                    self._kill(step, self._chance.choice(roles))
                case "store":
                    cluster.redis.kill9()
                    cluster.redis.start()
                    self.kills["store"] += 1

    def _kill(self, step: str, role: Role) -> None:
        role.kill9()
        self._restart(step, role)

    def _restart(self, step: str, role: Role) -> None:
        self.kills[f"{step}: {role.name}"] += 1
        role.start().wait_ready(60)

    def _events(self, since: int) -> dict:
        return self._stripe._call("GET", f"/_sandbox/events?type=charge.*&since={since}")

    def _in_a_request(self, step: str, worker: Role) -> None:
        """Kills a worker after Stripe has executed a request and before it responds."""
        if step == "look":
            self._stripe.fault("delay", match="/v1/", method="GET", times=3, delay_ms=400)
            self._out.wait(0.15)
        else:
            # A position after all events returns no data, and `next` is the current end.
            now = self._events(1 << 50)["next"]
            for _ in range(int(self.WAIT_S / 0.02)):
                if self._events(now)["data"] or self._out.wait(0.02):
                    break
        self._kill(step, worker)

    def _in_a_delivery(self, step: str, notifier: Role) -> None:
        """Kills a notifier after the receiver has received a message and before it responds."""
        reached = threading.Event()
        with self._lock:
            self._armed[step] = (reached, notifier)
        if reached.wait(self.WAIT_S):
            self._restart(step, notifier)
            return
        with self._lock:
            missed = self._armed.pop(step, None)
        if missed is None:
            # The step was reached after the wait had timed out.
            self._restart(step, notifier)

    def _reached(self, step: str) -> None:
        with self._lock:
            armed = self._armed.pop(step, None)
            if armed:
                armed[1].kill9()
                armed[0].set()
