"""Another service that subscribes in Redis, using the `redis` package."""

import json
import threading

import redis

from .receipts import Receipt, Receipts


class PubSubClient:
    """Subscribes to `{namespace}:events:*`. Pub/sub is lossy: Redis does not repeat a message."""

    def __init__(self, url: str, namespace: str = "poller", listener=None):
        self.receipts = Receipts(listener)
        self._closing = threading.Event()
        self._client = redis.Redis.from_url(url)
        self._pubsub = self._client.pubsub(ignore_subscribe_messages=True)
        self._prefix = f"{namespace}:events:"
        self._pubsub.psubscribe(self._prefix + "*")
        # This waits for the confirmation, so that no later event can be missed.
        self._pubsub.get_message(timeout=30)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                message = self._pubsub.get_message(timeout=0.1)
            except (redis.ConnectionError, redis.TimeoutError):
                self._closing.wait(0.1)
                continue
            if message and message["type"] == "pmessage":
                event = json.loads(message["data"])
                if message["channel"].decode() != self._prefix + event["source"]:
                    self.receipts.problem(f"{message['channel']} carries {event['source']}")
                self.receipts.add(Receipt.of("redis", event))

    def close(self) -> None:
        self._closing.set()
        self._thread.join(5)
        self._client.close()
