"""A defined traffic: payments that start at a fixed rate, are followed live, and are paid at a random time."""

import asyncio
import json
import math
import random
from dataclasses import dataclass

import websockets.asyncio.client
from harness.sandbox import Sandbox

# The time in seconds for which a source stays chargeable, long enough for a poll of an eager policy.
CHARGED_S = 8.0


@dataclass(frozen=True)
class Traffic:
    """The traffic of a cluster, in the terms of `pollerd simulate`."""

    payments_per_s: float = 20
    life_s: int = 20
    policy: str = "standard"
    # The number of receivers of each event.
    deliveries: int = 1
    # The number of search terms of a payment.
    names: int = 2
    # The percentage of payments that have their own live connection while they are open.
    followed: float = 100
    # The number of processes of each role.
    processes: int = 1
    # The number of connections that subscribe to all payments, such as a shop's.
    watching: int = 0
    # Whether each source is chargeable for some seconds before it is consumed.
    charged: bool = False
    # The number of additional watches that remain unpaid. The plan does not include them.
    waiting: int = 0

    @property
    def events(self) -> int:
        """The number of events of a payment: pending, consumed and paid.

        The chargeable phase adds two.
        """
        return 5 if self.charged else 3

    @property
    def options(self) -> list[str]:
        """The same traffic as options of `pollerd simulate`."""
        arrivals = self.payments_per_s * self.followed / 100
        listeners = arrivals * self.life_s / 2 + self.watching
        # Only payers' pages connect and leave. A shop's connection stays open.
        stay_s = max(1, round(listeners / arrivals)) if arrivals else 86_400
        return [
            "--payments", str(self.payments_per_s), "--lives", f"{self.life_s}s", "--policy", self.policy,
            "--deliveries", str(self.deliveries), "--names", str(self.names), "--events", str(self.events),
            "--listeners", str(listeners), "--heard", str(self.followed / 100 + self.watching), "--stay", f"{stay_s}s",
            "--processes", str(self.processes),
        ]


class Requests:
    """A pool of persistent connections, each with one request at a time.

    The CPU time of the library `requests` would limit the load.
    """

    CONNECTIONS = 8

    def __init__(self, url: str):
        self._host, self._port = url.removeprefix("http://").split(":")
        self._free: asyncio.Queue = asyncio.Queue()
        for _ in range(self.CONNECTIONS):
            self._free.put_nowait(None)

    async def post(self, path: str, body: dict) -> int:
        """Posts a JSON body and returns the status of the response."""
        data = json.dumps(body).encode()
        streams = await self._free.get()
        try:
            reader, writer = streams or await asyncio.open_connection(self._host, self._port)
            head = (
                f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(data)}\r\n\r\n"
            )
            writer.write(head.encode() + data)
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(answer.split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
        except BaseException:
            self._free.put_nowait(None)
            raise
        self._free.put_nowait((reader, writer))
        return int(answer.split(b" ")[1])


class Receiver(asyncio.Protocol):
    """Accepts and counts every webhook."""

    taken = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport, self._rest = transport, b""

    def data_received(self, data: bytes) -> None:
        self._rest += data
        while b"\r\n\r\n" in self._rest:
            head, _, body = self._rest.partition(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            if len(body) < length:
                return
            self._rest = body[length:]
            Receiver.taken += 1
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")


class Load:
    """Generates a traffic until it is cancelled or an error occurs."""

    def __init__(self, traffic: Traffic, api: str, sandbox: Sandbox, gateways: list[str]):
        self.traffic = traffic
        self._api, self._sandbox, self._gateways = Requests(api), sandbox, gateways
        self._stripe = Requests(sandbox.url)
        self._tasks: set[asyncio.Task] = set()
        self.begun = self.frames = self.connections = 0
        self._chance = random.Random(7)

    async def run(self, seconds: float) -> None:
        """Starts payments for the given time, while the caller takes measurements."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Receiver, "127.0.0.1", 0)
        self._hook = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        count = int(self.traffic.payments_per_s * seconds)
        sources = []
        for start in range(0, count, 1000):
            sources += await asyncio.to_thread(self._sandbox.create_sources, min(1000, count - start))
        for start in range(0, self.traffic.waiting, 500):
            waiting = await asyncio.to_thread(self._sandbox.create_sources, min(500, self.traffic.waiting - start))
            batch = [{"source": source, "policy": self.traffic.policy} for source in waiting]
            assert await self._api.post("/v1/watches/batch", batch) == 200
        for number in range(self.traffic.watching):
            subscribed = loop.create_future()
            self._tasks.add(asyncio.create_task(self._follow(number, {}, math.inf, subscribed)))
            await subscribed
        began = loop.time()
        for number, source in enumerate(sources):
            await asyncio.sleep(began + number / self.traffic.payments_per_s - loop.time())
            for task in [task for task in self._tasks if task.done()]:
                self._tasks.discard(task)
                task.result()
            self._tasks.add(asyncio.create_task(self._pay(source, number)))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        server.close()

    async def _pay(self, source: str, number: int) -> None:
        traffic, page = self.traffic, None
        if self._chance.uniform(0, 100) < traffic.followed:
            heard = asyncio.get_running_loop().create_future()
            page = asyncio.create_task(self._follow(number, {"sources": [source]}, self.traffic.events, heard))
            await asyncio.wait([heard, page], return_when=asyncio.FIRST_COMPLETED)
        try:
            watch = {"source": source, "policy": traffic.policy}
            if traffic.deliveries:
                watch["notify"] = [f"{self._hook}/{n}" for n in range(traffic.deliveries)]
            if traffic.names:
                names = {"order": f"A{number}", "customer": f"c{number}@example.com"}
                watch["metadata"] = dict(list(names.items())[: traffic.names])
            status = await self._api.post("/v1/watches", watch)
            assert status in (200, 201), f"a payment was refused with {status}"
            self.begun += 1
            await asyncio.sleep(self._chance.uniform(0, traffic.life_s))
            if traffic.charged:
                await self._change(source, "chargeable")
                await asyncio.sleep(CHARGED_S)
            await self._change(source, "consumed")
            if page:
                await page
        finally:
            if page:
                page.cancel()
                await asyncio.gather(page, return_exceptions=True)

    async def _change(self, source: str, status: str) -> None:
        answer = await self._stripe.post(f"/_sandbox/sources/{source}/status", {"status": status})
        assert answer == 200, f"the sandbox answered {answer}"

    async def _follow(self, number: int, what: dict, events: float, subscribed: asyncio.Future) -> None:
        """Follows one payment as a page does, until all its events have arrived, or all payments as a shop does.

        A page subscribes before its payment is enqueued. A shop, with infinite `events`, stays connected.
        """
        url = self._gateways[number % len(self._gateways)].replace("http://", "ws://") + "/v1/stream"
        async with websockets.asyncio.client.connect(url, subprotocols=["poller.v1.json"], proxy=None, compression=None) as socket:
            self.connections += 1
            await socket.send(json.dumps({"op": "subscribe", "ref": 1, "from": "now"} | what))
            async for text in socket:
                if text.startswith('{"op":"subscribed"'):
                    subscribed.set_result(None)
                elif text.startswith('{"op":"event"'):
                    self.frames += 1
                    events -= 1
                    if not events:
                        return
