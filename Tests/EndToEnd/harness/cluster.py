"""The whole system as real processes, with its peers around it."""

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

# A fixed secret of 32 bytes, so that sinks can verify from the first delivery on.
WEBHOOK_SECRET = "whsec_" + base64.b64encode(b"end-to-end-tests-use-this-secret").decode()

# Short, so that a test sees a lease end without waiting for it long; still one second more than the
# longest poll, as the configuration demands.
LEASE_S = 3
POLL_TIMEOUT_S = 2

LISTENING = r"^pollerd {} listening on (https?://\S+)$"


def program(name: str) -> str:
    """A program under test: from POLLER_BIN_DIR, else from the debug build."""
    root = Path(__file__).resolve().parents[3]
    path = Path(os.environ.get("POLLER_BIN_DIR", root / ".build/debug")) / name
    assert path.exists(), f"{path} is missing: run `swift build`, or let `ops/test` do it"
    return str(path)


def previous_programs() -> Path | None:
    """Where a former release's programs are: POLLER_PREVIOUS_BIN_DIR, when it says so."""
    folder = os.environ.get("POLLER_PREVIOUS_BIN_DIR")
    if not folder:
        return None
    assert (Path(folder) / "pollerd").exists(), f"POLLER_PREVIOUS_BIN_DIR: no pollerd in {folder}"
    return Path(folder).resolve()


class Role(Process):
    """One `pollerd` process and where it listens."""

    def address(self, listener: str) -> str:
        """The URL of `api`, `gateway` or `admin`, of the present start."""
        return self.line(LISTENING.format(listener)).group(1)

    def wait_ready(self, timeout_s: float = 20) -> "Role":
        self.line(r"^pollerd ready$", timeout_s)
        return self

    def admin(self, path: str) -> requests.Response:
        return requests.get(self.address("admin") + path, timeout=5)

    def metric(self, name: str) -> float:
        """The sum of a metric over all its labels; 0 while it has not been written."""
        total = 0.0
        for line in self.admin("/metrics").text.splitlines():
            if line.startswith(name) and line[len(name) : len(name) + 1] in ("{", " "):
                total += float(line.rsplit(" ", 1)[1])
        return total


# The ways Redis is run, by name.
STORES = {
    "standalone": RedisServer,
    "sentinel": RedisSentinel,
    "cluster": RedisCluster,
    "distant": DistantRedis,
    "divided": DividedSentinel,
}


class Cluster:
    """Redis, the sandbox, `pollerd api`, `worker` × n, `notifier`, and every channel's listener.

    Everything is a process of its own on a free loopback port; logs are in `logs`.
    """

    def __init__(
        self,
        workers: int = 2,
        notifiers: int = 1,
        env: dict[str, str] | None = None,
        listen: bool = True,
        apis: int = 1,
        store: str = "standalone",
        fsync: str = "always",
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
        # Where the programs of a former release are: it makes the store, and every second process is of it.
        self.previous = previous
        # Of a single server alone, such as what fakes its clock.
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
            "POLLER_LEASE": f"{LEASE_S}s",
            "POLLER_POLL_TIMEOUT": f"{POLL_TIMEOUT_S}s",
            # The limit Stripe imposes is not what these tests are about; it would only slow them.
            "POLLER_LANE_RATE": "500",
            "POLLER_LANE_BURST": "100",
            "POLLER_LANE_CONCURRENCY": "200",
            "POLLER_DRAIN_TIMEOUT": "10s",
            "POLLER_LOG_LEVEL": "debug",
        } | self._extra
        workers, notifiers, apis = self._sizes
        self.api_process = self.role("api", "api").start()
        if self.previous:
            # A store of the newest form is none that the former program would touch.
            self.api_process.wait_ready()
        self.apis = [self.api_process]
        self.apis += [self.role(f"api{n}", "api").start() for n in range(2, apis + 1)]
        self.workers = [self.role(f"worker{n}", "worker").start() for n in range(1, workers + 1)]
        self.notifiers = [
            # A fixed port: a client that lost its connection finds the gateway where it was.
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
        """Another `pollerd` of this cluster; the caller starts it."""
        env = self.env | (env or {})
        made = self._add(Role(name, [program("pollerd"), role], self.logs, env))
        # The first of each role, and every second one after it.
        if self.previous and sum(p.command[1:] == [role] for p in self.processes) % 2:
            self.change_release(made)
        return made

    def change_release(self, role: Role) -> None:
        """Of the other release from its next start on: the former one, or that under test."""
        former = str(self.previous / "pollerd")
        role.command[0] = program("pollerd") if role.command[0] == former else former

    def fsck(self) -> subprocess.CompletedProcess:
        """`pollerd fsck` on this store; exit status 1 when something is not in its place."""
        return subprocess.run(
            [program("pollerd"), "fsck"], env=self.env, capture_output=True, text=True, timeout=120
        )

    def busy_partitions(self) -> list[str]:
        """The partitions that have recorded something, the fullest first."""
        with self.redis.client() as client:
            total = int(client.hget("poller:layout", "partitions"))
            sizes = {str(p): client.xlen(f"poller:e{{{p}}}") for p in range(total)}
        return sorted((p for p, size in sizes.items() if size), key=lambda p: -sizes[p])

    def busy_master(self) -> RedisServer:
        """In a Redis Cluster, the master of the fullest partition."""
        return self.redis.master_of(self.busy_partitions()[0])

    def gateway(self) -> str:
        """The live gateway's URL; the role that prints it has it."""
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
        """The endpoints of a watch that is to be told about on every channel.

        No mail names its source, so each source has a customer of its own: `enqueue` puts its id for SOURCE.
        """
        return [self.webhook.url, "mailto:customer+SOURCE@example.com"]

    def notify_of(self, source: str) -> list[str]:
        """`notify` for this source."""
        return [url.replace("SOURCE", source) for url in self.notify]

    def enqueue(self, source: str, **fields) -> dict:
        """Enqueues a source with all endpoints and an eager policy; must be accepted."""
        fields = {"policy": "interactive", "notify": self.notify} | fields
        fields["notify"] = [url.replace("SOURCE", source) for url in fields["notify"]]
        response = self.api.enqueue(source, **fields)
        assert response.status_code in (200, 201), f"{response.status_code} {response.text}"
        return response.json()

    def wait_status(self, source: str, status: str, timeout_s: float = 20) -> dict:
        def look() -> dict | None:
            watch = self.api.watch(source)
            return watch if watch["status"] == status else None

        return wait_until(look, timeout_s, f"{source} is {status}")

    def wait_delivered(self, sources: list[str], timeout_s: float = 30, mail: bool = True) -> None:
        """Waits until the endpoints have got the last event each is told of each source."""
        webhook, mailed = set(), set()
        for source in sources:
            events = self.api.events(source)
            webhook.add(events[-1]["id"])
            told = [event["id"] for event in events if is_mailed(event)] if mail else []
            mailed |= set(told[-1:])

        def all_there() -> bool:
            return webhook <= self.webhook.receipts.ids() and mailed <= self.mail.receipts.ids()

        wait_until(all_there, timeout_s, f"the last events of {len(sources)} sources delivered")

    def channels(self) -> dict[str, object]:
        """Every listener by the name of its channel."""
        found = {"webhook": self.webhook, "email": self.mail}
        if self._listen:
            found |= {"websocket": self.stream, "redis": self.pubsub}
        return found

    def verify(
        self, sources: list[str], doubles: tuple[str, ...] = (), gaps: tuple[str, ...] = ()
    ) -> None:
        """Waits for the deliveries and compares what happened, was recorded and was delivered.

        Every event once, in order and under the same id on every channel; `doubles` and `gaps`
        name the channels on which a crash may repeat or lose one.
        """
        self.wait_delivered(sources)
        history = self.history({source: self.api.events(source) for source in sources})
        for name, peer in self.channels().items():
            history.channel(
                name, peer.receipts.among(sources), doubles=name in doubles, gaps=name in gaps
            )
        history.verdict()

    def history(self, recorded: dict[str, list[dict]]) -> HistoryChecker:
        """A checker of what was recorded against what happened at the sandbox."""
        return HistoryChecker(self.sandbox.history(), recorded)

    def report(self) -> str:
        """What every process said last, for a failed test."""
        return "\n".join(process.tail() for process in self.processes)

    def close(self) -> None:
        # All at once: each may take its time, and longer where its store cannot be reached.
        for process in self.processes:
            process.ask_to_end()
        for peer in reversed(self._peers):
            peer.close()
        for process in reversed(self.processes):
            process.end()
        self._folder.cleanup()

    def __exit__(self, *_error) -> None:
        self.close()
