#!/usr/bin/env python3
"""Follows sources over Redis: immediately by pub/sub, completely by the history.

    pip install redis requests
    ops/examples/subscribe.py --redis redis://127.0.0.1:6379/0 --api http://127.0.0.1:8080 src_123 …

Pub/sub is fast but loses events that are published while no subscriber is connected. Every event
has a `seq`, which counts 1, 2, 3 … for each source, so a gap is detected, and
`GET /v1/watches/{source}/events?after_seq=N` fills it. Prints each event once, in order, as one JSON
object per line, and ends when all sources are closed. POLLER_API_KEY is sent if it is set.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator

import redis
import requests
from redis.backoff import NoBackoff
from redis.retry import Retry

parser = argparse.ArgumentParser()
parser.add_argument("--redis", default="redis://127.0.0.1:6379/0")
parser.add_argument("--api", default="http://127.0.0.1:8080")
parser.add_argument("--namespace", default="poller")
parser.add_argument("sources", nargs="+", metavar="SOURCE")
options = parser.parse_args()

http = requests.Session()
if key := os.environ.get("POLLER_API_KEY"):
    http.headers["Authorization"] = f"Bearer {key}"

# The last printed `seq` of each open source, which is the only state of this program. Store it in your database, in
# the transaction that processes the event.
seen = {source: 0 for source in options.sources}


def history(source: str) -> Iterator[dict]:
    """Yields the recorded events of a source after the last printed one."""
    while source in seen:
        answer = http.get(
            f"{options.api}/v1/watches/{source}/events",
            params={"after_seq": seen[source]}, timeout=10,
        )
        if answer.status_code == 404:
            return  # The source is not watched yet.
        if answer.status_code == 401:
            sys.exit("the API requires a key: set POLLER_API_KEY")
        answer.raise_for_status()
        page = answer.json()
        yield from page["data"]
        if not page["has_more"]:
            return


def take(event: dict) -> None:
    """Prints an event unless it was printed before; an event can arrive both ways."""
    source = event["source"]
    if event["seq"] <= seen.get(source, sys.maxsize):
        return
    print(json.dumps(event, separators=(",", ":")), flush=True)
    seen[source] = event["seq"]
    if event["closed_reason"]:
        del seen[source]  # The watch is closed.


def catch_up(source: str) -> None:
    for event in history(source):
        take(event)


def receive(event: dict) -> None:
    """Prints a published event; an event beyond the next `seq` shows a gap, which is filled first."""
    if event["seq"] > seen.get(event["source"], sys.maxsize) + 1:
        catch_up(event["source"])
    take(event)


def listen() -> None:
    """Listens on one connection until it breaks or all sources are closed."""
    # The client must not reconnect automatically, because that would hide missing events.
    client = redis.Redis.from_url(
        options.redis, retry=Retry(NoBackoff(), 0), health_check_interval=10, socket_timeout=5
    )
    with client, client.pubsub(ignore_subscribe_messages=True) as subscription:
        subscription.subscribe(*(f"{options.namespace}:events:{source}" for source in seen))
        # Subscribe first, then read the history. An event recorded in between arrives twice instead of never.
        for source in list(seen):
            catch_up(source)
        while seen:
            message = subscription.get_message(timeout=1)
            if message:
                receive(json.loads(message["data"]))


while seen:
    try:
        listen()
    except (redis.ConnectionError, redis.TimeoutError, requests.RequestException) as error:
        print(f"connection lost, reconnecting: {error}", file=sys.stderr, flush=True)
        time.sleep(0.5)
