"""A client of event streams that uses only the standard library.

    sse_client.py http://127.0.0.1:8081/v1/events/stream [--token T] [--last-id ID] [--header N:V] [--method M]
                  [--deaf] [--until-eof]

Prints one JSON object per line: {"status": 200, "headers": {…}, "body": text or null}, then {"message":
{"event", "id", "data"}}, {"retry": ms} and {"comment": text} as they arrive, and {"ended": true} at the end.
With --deaf the client does not read the body until it reads the line `!listen` from standard input.
"""

import argparse
import http.client
import json
import os
import socket
import sys
import threading
import urllib.parse


def say(line):
    print(json.dumps(line), flush=True)


def messages(response):
    event, last_id, data = None, None, []
    for raw in response:
        line = raw.decode().rstrip("\r\n")
        if not line:
            if data:
                say({"message": {"event": event or "message", "id": last_id, "data": json.loads("\n".join(data))}})
            event, data = None, []
        elif line.startswith(":"):
            say({"comment": line[1:]})
        else:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            match name:
                case "event":
                    event = value
                case "id":
                    last_id = value
                case "data":
                    data.append(value)
                case "retry":
                    say({"retry": int(value)})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--token")
    parser.add_argument("--last-id")
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--method", default="GET")
    parser.add_argument("--deaf", action="store_true")
    parser.add_argument("--until-eof", action="store_true", help="end with standard input")
    options = parser.parse_args()
    url = urllib.parse.urlsplit(options.url)
    headers = {"Accept": "text/event-stream"}
    headers |= dict(header.split(":", 1) for header in options.header)
    if options.token:
        headers["Authorization"] = f"Bearer {options.token}"
    if options.last_id:
        headers["Last-Event-ID"] = options.last_id
    listening = threading.Event()
    if not options.deaf:
        listening.set()

    def commands():
        for line in sys.stdin:
            if line.strip() == "!listen":
                listening.set()
        if options.until_eof:
            os._exit(0)

    threading.Thread(target=commands, daemon=True).start()
    connection = http.client.HTTPConnection(url.hostname, url.port)
    if options.deaf:
        # A small receive buffer, so that it is full after little data.
        connection.sock = socket.socket()
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.sock.connect((url.hostname, url.port))
    connection.request(options.method, url.path + ("?" + url.query if url.query else ""), headers=headers)
    response = connection.getresponse()
    is_stream = response.status == 200 and options.method == "GET"
    body = None if is_stream else response.read().decode()
    names = {name.lower(): value for name, value in response.getheaders()}
    say({"status": response.status, "headers": names, "body": body})
    if is_stream:
        listening.wait()
        try:
            messages(response)
        except (http.client.IncompleteRead, OSError):
            pass
    say({"ended": True})


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(0)
