"""The whole system as real processes, together with its peers."""

import base64
import os
import subprocess
import tempfile
from pathlib import Path

import requests

from .distant_redis import DistantRedis, DividedSentinel
from .history_checker import HistoryChecker, is_mailed
from .mail_sink import MailSink
from .poller_api import PollerAPI
from .process import Process
from .pubsub_client import PubSubClient
from .redis_cluster import RedisCluster
from .redis_sentinel import RedisSentinel
from .redis_server import RedisServer, free_port
from .sandbox import Sandbox
from .stream_client import StreamClient
from .waiting import wait_until
from .webhook_sink import WebhookSink

# A fixed secret of 32 bytes, so sinks can verify signatures from the first delivery.
WEBHOOK_SECRET = "whsec_" + base64.b64encode(b"end-to-end-tests-use-this-secret").decode()

# For tests that kill, freeze or isolate a worker, or let a replica take over: short, so that they need not wait long for
# a lease to expire. The configuration requires the lease to exceed the poll timeout by at least one second.
LEASE_S = 3
POLL_TIMEOUT_S = 2
SHORT_LEASE = {"POLLER_LEASE": f"{LEASE_S}s", "POLLER_POLL_TIMEOUT": f"{POLL_TIMEOUT_S}s"}

# The grace period of each process when a cluster closes.
CLOSE_S = 5

LISTENING = r"^pollerd {} listening on (https?://\S+)$"


def program(name: str) -> str:
    """Returns the path of a program under test, from POLLER_BIN_DIR or the debug build."""
    root = Path(__file__).resolve().parents[3]
    path = Path(os.environ.get("POLLER_BIN_DIR", root / ".build/debug")) / name
    assert path.exists(), f"{path} is missing: run `swift build`, or let `ops/test` do it"
    return str(path)


def previous_programs() -> Path | None:
    """Returns the folder of a previous release's programs (POLLER_PREVIOUS_BIN_DIR), or `None`."""
    folder = os.environ.get("POLLER_PREVIOUS_BIN_DIR")
    if not folder:
        return None
    assert (Path(folder) / "pollerd").exists(), f"POLLER_PREVIOUS_BIN_DIR: no pollerd in {folder}"
    return Path(folder).resolve()


class Role(Process):
    """A `pollerd` process and the addresses it listens on."""

    def address(self, listener: str) -> str:
        """Returns the URL of `api`, `gateway` or `admin` since the latest start."""
        return self.line(LISTENING.format(listener)).group(1)

    def wait_ready(self, timeout_s: float = 60) -> "Role":
        self.line(r"^pollerd ready$", timeout_s)
        return self

    def admin(self, path: str) -> requests.Response:
        return requests.get(self.address("admin") + path, timeout=60)

    def metric(self, name: str) -> float:
        """Returns the sum of a metric over all its labels, or 0 if it was never written."""
        total = 0.0
        for line in self.admin("/metrics").text.splitlines():
            if line.startswith(name) and line[len(name) : len(name) + 1] in ("{", " "):
                total += float(line.rsplit(" ", 1)[1])
        return total


# The supported Redis topologies, by name.
STORES = {
    "standalone": RedisServer,
    "sentinel": RedisSentinel,
    "cluster": RedisCluster,
    "distant": DistantRedis,
    "divided": DividedSentinel,
}


class Cluster:
    """Redis, the sandbox, `pollerd api`, `worker` × n, `notifier`, and a listener for every channel.

    Each part is a process on a free loopback port. Logs are in `logs`.
    """

    def __init__(
        self,
        workers: int = 2,
        notifiers: int = 1,
        env: dict[str, str] | None = None,
        listen: bool = True,
        apis: int = 1,
        store: str = "standalone",
        fsync: str = "everysec",
        redis_env: dict[str, str] | None = None,
        previous: Path | None = None,
    ):
        self._folder = tempfile.TemporaryDirectory(prefix="poller-e2e-")
        root = Path(self._folder.name)
        self.logs = root / "logs"
        self.logs.mkdir()
        self.processes: list[Process] = []
        self._peers: list = []
        self._listen = listen
        self._extra = env or {}
        self._sizes = (workers, notifiers, apis)
        self._store = store
        self._fsync = fsync
        # The programs of a previous release. That release creates the store and runs every second process.
        self.previous = previous
        # Options for a single server only, such as the environment that fakes its clock.
        self._redis_options = {"env": redis_env} if redis_env else {}
        self._data = root / "redis"

    def __enter__(self) -> "Cluster":
        try:
            self._start()
        except BaseException:
            print(self.report())
            self.close()
            raise
        return self

    def _start(self) -> None:
        self.redis = STORES[self._store](
            self.logs, self._data, fsync=self._fsync, **self._redis_options
        )
        self.processes += self.redis.processes
        for way in getattr(self.redis, "ways", []):
            self._peer(way)
        self.redis.start()
        sandbox = self._add(
            Process(
                "sandbox",
                [program("stripe-sandbox"), "--bind", "127.0.0.1:0", "--auto-delay", "0.3"],
                self.logs,
            )
        ).start()
        self.webhook = self._peer(WebhookSink(WEBHOOK_SECRET))
        self.mail = self._peer(MailSink())
        self.sandbox_process = sandbox
        found = sandbox.line(r"^stripe-sandbox listening on (https?://\S+)$")
        self.sandbox = Sandbox(found.group(1))
        self.env = {
            "POLLER_REDIS_URL": self.redis.url,
            "POLLER_API_BIND": "127.0.0.1:0",
            "POLLER_GATEWAY_BIND": "127.0.0.1:0",
            "POLLER_ADMIN_BIND": "127.0.0.1:0",
            "POLLER_STRIPE_API_BASE": self.sandbox.url,
            "STRIPE_API_KEY": Sandbox.KEY,
            "POLLER_SMTP_URL": self.mail.url,
            "POLLER_MAIL_FROM": "shop@example.com",
            "POLLER_WEBHOOK_SECRET": WEBHOOK_SECRET,
            "POLLER_ALLOW_CIDRS": "127.0.0.0/8",
            # The defaults of `pollerd`. On a busy machine a process may stop for seconds. Its polls must not time out
            # then, and it must not lose their leases: a charge would be in doubt, or a poll repeated.
            "POLLER_LEASE": "12s",
            "POLLER_POLL_TIMEOUT": "8s",
            # These tests do not cover Stripe's rate limit, which would only slow them down.
            "POLLER_LANE_RATE": "500",
            "POLLER_LANE_BURST": "100",
            "POLLER_LANE_CONCURRENCY": "200",
            "POLLER_DRAIN_TIMEOUT": "10s",
            "POLLER_LOG_LEVEL": "debug",
        } | self._extra
        workers, notifiers, apis = self._sizes
        self.api_process = self.role("api", "api").start()
        if self.previous:
            # The previous release must create the store, because it refuses a store in a newer format.
            self.api_process.wait_ready()
        self.apis = [self.api_process]
        self.apis += [self.role(f"api{n}", "api").start() for n in range(2, apis + 1)]
        self.workers = [self.role(f"worker{n}", "worker").start() for n in range(1, workers + 1)]
        self.notifiers = [
            # A fixed port, so that a client that lost its connection can reconnect after a restart.
            self.role(
                f"notifier{n}", "notifier", {"POLLER_GATEWAY_BIND": f"127.0.0.1:{free_port()}"}
            ).start()
            for n in range(1, notifiers + 1)
        ]
        for role in [*self.apis, *self.workers, *self.notifiers]:
            role.wait_ready()
        self.api = PollerAPI(self.api_process.address("api"))
        if self._listen:
            self.pubsub = self._peer(PubSubClient(self.redis.listen_url))
            self.stream = self._peer(StreamClient(self.gateway()))

    def role(self, name: str, role: str, env: dict[str, str] | None = None) -> Role:
        """Adds a `pollerd` process to this cluster. The caller starts it."""
        env = self.env | (env or {})
        made = self._add(Role(name, [program("pollerd"), role], self.logs, env))
        # The previous release runs the first process of each role and every second one after it.
        if self.previous and sum(p.command[1:] == [role] for p in self.processes) % 2:
            self.change_release(made)
        return made

    def change_release(self, role: Role) -> None:
        """Switches a process to the other release from its next start."""
        former = str(self.previous / "pollerd")
        role.command[0] = program("pollerd") if role.command[0] == former else former

    def fsck(self) -> subprocess.CompletedProcess:
        """Runs `pollerd fsck` on this store. It exits with status 1 if it finds an inconsistency."""
        return subprocess.run(
            [program("pollerd"), "fsck"], env=self.env, capture_output=True, text=True, timeout=120
        )

    def busy_partitions(self) -> list[str]:
        """Returns the partitions with recorded events, the one with the most events first."""
        with self.redis.client() as client:
            total = int(client.hget("poller:layout", "partitions"))
            sizes = {str(p): client.xlen(f"poller:e{{{p}}}") for p in range(total)}
        return sorted((p for p, size in sizes.items() if size), key=lambda p: -sizes[p])

    def busy_master(self) -> RedisServer:
        """Returns the Redis Cluster master that stores the fullest partition."""
        return self.redis.master_of(self.busy_partitions()[0])

    def gateway(self) -> str:
        """Returns the live gateway's URL from the process that printed it."""
        for role in [*self.notifiers, self.api_process]:
            if "pollerd gateway listening" in role.stdout():
                return role.address("gateway")
        raise AssertionError("no process printed `pollerd gateway listening on …`")

    def _add(self, process):
        self.processes.append(process)
        return process

    def _peer(self, peer):
        self._peers.append(peer)
        return peer

    @property
    def notify(self) -> list[str]:
        """The endpoints of a watch that is delivered on every channel.

        A mail does not contain its source, so each source gets its own recipient: `enqueue` replaces SOURCE with
        the source's ID.
        """
        return [self.webhook.url, "mailto:customer+SOURCE@example.com"]

    def notify_of(self, source: str) -> list[str]:
        """Returns `notify` with the ID of this source."""
        return [url.replace("SOURCE", source) for url in self.notify]

    def enqueue(self, source: str, **fields) -> dict:
        """Enqueues a source with all endpoints and the `interactive` policy; fails unless it is accepted."""
        fields = {"policy": "interactive", "notify": self.notify} | fields
        fields["notify"] = [url.replace("SOURCE", source) for url in fields["notify"]]
        response = self.api.enqueue(source, **fields)
        assert response.status_code in (200, 201), f"{response.status_code} {response.text}"
        return response.json()

    def enqueue_new(self, **fields) -> str:
        """Enqueues a new source of the sandbox and returns its ID."""
        source = self.sandbox.create_source()
        self.enqueue(source, **fields)
        return source

    def follow(self, source: str, **fields) -> None:
        """Enqueues a pending source and waits for its first poll."""
        self.enqueue(source, **fields)
        self.wait_status(source, "pending")

    def follow_new(self, **fields) -> str:
        """Enqueues a new source, waits for its first poll and returns its ID."""
        source = self.sandbox.create_source()
        self.follow(source, **fields)
        return source

    def authorise(self, source: str) -> None:
        """Authorises a source as its customer would, and waits until a poll has seen it."""
        self.sandbox.authorise(source)
        self.wait_status(source, "chargeable")

    def charge(self, source: str) -> None:
        """Charges a source as the shop would, and waits until a poll has seen it."""
        self.sandbox.charge(source)
        self.wait_status(source, "consumed")

    def set_status(self, source: str, status: str) -> None:
        """Changes the status of a source in the sandbox, and waits until a poll has seen it."""
        self.sandbox.set_status(source, status)
        self.wait_status(source, status)

    def wait_status(self, source: str, status: str, timeout_s: float = 60) -> dict:
        def look() -> dict | None:
            response = self.api.request("GET", f"/v1/watches/{source}")
            if response.status_code == 503:
                # A failover or a restart of Redis takes a few seconds.
                return None
            assert response.ok, f"{source}: {response.status_code} {response.text[:500]}"
            watch = response.json()
            return watch if watch["status"] == status else None

        return wait_until(look, timeout_s, f"{source} is {status}")

    def wait_delivered(self, sources: list[str], timeout_s: float = 60, mail: bool = True) -> None:
        """Waits until each endpoint has received the last event it subscribes to, for every source."""
        webhook, mailed = set(), set()
        for source in sources:
            events = self.api.events(source)
            webhook.add(events[-1]["id"])
            told = [event["id"] for event in events if is_mailed(event)] if mail else []
            mailed |= set(told[-1:])

        def all_there() -> bool:
            return webhook <= self.webhook.receipts.ids() and mailed <= self.mail.receipts.ids()

        wait_until(all_there, timeout_s, f"the last events of {len(sources)} sources delivered")

    def wait_done(self, sources: list[str], mail: bool = True) -> None:
        """Waits as `wait_delivered`, and until the notifiers have recorded their attempts.

        A recipient has an event before its delivery is done. A process killed in between sends it again.
        """
        self.wait_delivered(sources, mail=mail)
        for source in sources:
            path = f"/v1/deliveries?source={source}&limit=100"
            wait_until(
                lambda: all(each["state"] == "done" for each in self.api.get(path)["data"]), 60,
                f"the deliveries of {source} are done",
            )

    def channels(self) -> dict[str, object]:
        """Returns every listener by the name of its channel."""
        found = {"webhook": self.webhook, "email": self.mail}
        if self._listen:
            found |= {"websocket": self.stream, "redis": self.pubsub}
        return found

    def verify(
        self, sources: list[str], doubles: tuple[str, ...] = (), gaps: tuple[str, ...] = ()
    ) -> None:
        """Waits for the deliveries, then compares the sandbox's history, the recorded events and the deliveries.

        Each event must arrive once, in order, with the same ID on every channel. A crash may repeat an event on the
        channels in `doubles` and lose one on the channels in `gaps`.
        """
        self.wait_delivered(sources)
        events = {source: self.api.events(source) for source in sources}
        last = {recorded[-1]["id"] for recorded in events.values()}
        for name in {"websocket", "redis"} - set(gaps):
            if live := self.channels().get(name):
                wait_until(lambda live=live: last <= live.receipts.ids(), 60, f"the last events on {name}")
        history = self.history(events)
        for name, peer in self.channels().items():
            history.channel(
                name, peer.receipts.among(sources), doubles=name in doubles, gaps=name in gaps
            )
        history.verdict()

    def history(self, recorded: dict[str, list[dict]]) -> HistoryChecker:
        """Returns a checker of recorded events against the sandbox's history."""
        return HistoryChecker(self.sandbox.history(), recorded)

    def report(self) -> str:
        """Returns the last log lines of every process, for a failed test."""
        return "\n".join(process.tail() for process in self.processes)

    def close(self) -> None:
        # The store ends last, because a worker that cannot record a result retries until its lease ends.
        stores = self.redis.processes if self.processes else []
        others = [process for process in self.processes if process not in stores]
        for store in stores:
            if store.running:
                store.thaw()
        # All others are asked to end at once, because each may need time. After the grace period they are killed, which
        # loses nothing that a test can still read.
        for process in others:
            process.ask_to_end()
        for peer in reversed(self._peers):
            peer.close()
        for process in reversed(others):
            process.end(CLOSE_S)
        for store in stores:
            store.ask_to_end()
        for store in stores:
            store.end(CLOSE_S)
        self._folder.cleanup()

    def __exit__(self, *_error) -> None:
        self.close()
