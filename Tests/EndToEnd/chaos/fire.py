"""A fire that ends processes with SIGKILL in the middle of each step of a payment's way."""

import random
import threading
from collections import Counter

from harness.cluster import Cluster, Role
from harness.sandbox import Sandbox


class Fire:
    """Kills until it is put out, and starts each process again at once.

    Steps: `look` and `charge` (a worker that waits for Stripe's answer; a charge has been made by then),
    `webhook` and `mail` (a notifier, before the receiver has answered), `anywhere` (any process, whatever it
    does), `store` (Redis, which keeps all it has acknowledged). The seed says what dies next, not
    what else it was doing then.
    """

    STEPS = ("look", "charge", "charge", "webhook", "mail", "anywhere", "anywhere", "anywhere", "store")
    # How long a step is waited for before another is tried.
    WAIT_S = 2

    def __init__(self, cluster: Cluster, seed: int):
        self.kills: Counter = Counter()
        self._cluster = cluster
        self._stripe = Sandbox(cluster.sandbox.url)
        self._chance = random.Random(seed)
        self._out = threading.Event()
        # What waits for a step to be reached, and what is killed then.
        self._armed: dict[str, tuple[threading.Event, Role]] = {}
        self._lock = threading.Lock()
        self._failure: Exception | None = None
        cluster.webhook.receipts._listener = lambda _: self._reached("webhook")
        cluster.mail.receipts._listener = lambda _: self._reached("mail")
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def put_out(self) -> Counter:
        """Ends it, with everything running again; gives the kills by step."""
        self._out.set()
        self._thread.join(300)
        assert not self._thread.is_alive()
        # A fire that has gone out by itself would have proven nothing.
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
        """Kills a worker while Stripe has done what it was asked and has not answered."""
        if step == "look":
            self._stripe.fault("delay", match="/v1/", method="GET", times=3, delay_ms=400)
            self._out.wait(0.15)
        else:
            # Nothing comes after the newest, and that is where it is.
            now = self._events(1 << 50)["next"]
            for _ in range(int(self.WAIT_S / 0.02)):
                if self._events(now)["data"] or self._out.wait(0.02):
                    break
        self._kill(step, worker)

    def _in_a_delivery(self, step: str, notifier: Role) -> None:
        """Kills a notifier before the receiver, who has taken what it sent, has answered."""
        reached = threading.Event()
        with self._lock:
            self._armed[step] = (reached, notifier)
        if reached.wait(self.WAIT_S):
            self._restart(step, notifier)
            return
        with self._lock:
            missed = self._armed.pop(step, None)
        if missed is None:
            # It was reached just now.
            self._restart(step, notifier)

    def _reached(self, step: str) -> None:
        with self._lock:
            armed = self._armed.pop(step, None)
            if armed:
                armed[1].kill9()
                armed[0].set()
