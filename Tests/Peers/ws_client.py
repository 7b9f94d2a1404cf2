"""A client of the live gateway that uses the independent library `websockets`.

    ws_client.py ws://127.0.0.1:8081/v1/stream [--token T] [--protocol P] [--origin O] [--host NAME]
                 [--header N:V] [--deaf] [--until-eof]

It sends each line of standard input as a text frame. `!binary` sends a binary frame, and `!close` closes the
connection. It prints one JSON object per line: {"opened": subprotocol} or {"refused": status}, {"received": message}
for each message, and {"closed": code, "reason": text} at the end. With --deaf it does not read from the socket until
it reads the line `!listen`. With --host it sends another host name than the server's.
"""

import argparse
import asyncio
import json
import os
import sys
import urllib.parse

import websockets


def say(line):
    print(json.dumps(line), flush=True)


async def commands():
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line.decode().rstrip("\n")


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--token")
    parser.add_argument("--protocol", default="poller.v1.json")
    parser.add_argument("--origin")
    parser.add_argument("--host")
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--deaf", action="store_true")
    parser.add_argument("--until-eof", action="store_true", help="end with standard input")
    options = parser.parse_args()
    headers = dict(header.split(":", 1) for header in options.header)
    if options.token:
        headers["Authorization"] = f"Bearer {options.token}"
    url = urllib.parse.urlsplit(options.url)
    where = {"host": url.hostname, "port": url.port}
    if options.host:
        url = url._replace(netloc=options.host)
    try:
        socket = await websockets.connect(
            url.geturl(),
            **where,
            subprotocols=options.protocol.split(",") if options.protocol else None,
            additional_headers=headers,
            origin=options.origin,
            proxy=None,
            ping_interval=None,
            max_queue=2,
            close_timeout=2,
        )
    except websockets.InvalidStatus as refusal:
        say({"refused": refusal.response.status_code})
        return
    say({"opened": socket.subprotocol})
    listening = asyncio.Event()
    if not options.deaf:
        listening.set()

    async def receive():
        await listening.wait()
        try:
            async for message in socket:
                say({"received": json.loads(message)})
        except websockets.ConnectionClosed:
            pass
        say({"closed": socket.close_code, "reason": socket.close_reason})

    async def send():
        async for line in commands():
            try:
                if line == "!binary":
                    await socket.send(b"\x00")
                elif line == "!close":
                    await socket.close()
                elif line == "!listen":
                    listening.set()
                else:
                    await socket.send(line)
            except websockets.ConnectionClosed:
                return
        if options.until_eof:
            os._exit(0)

    sending = asyncio.create_task(send())
    await receive()
    sending.cancel()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(0)
