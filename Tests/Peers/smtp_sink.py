"""Receives mail with the independent `aiosmtpd` and parses it with Python's own `email` package.

Prints one JSON object a line: first {"port": N}, then one for each mail:
{"from", "to", "peer_port", "headers", "parts": {"text/plain": …, "text/html": …}, "defects", "raw"}.

The recipient decides the answer: tempfail@… 451, permfail@… 550 for want of a mailbox, policy@… 550
for policy, datafail@… 554 after the message,
slow@… answers its RCPT after a minute; every other mail is accepted.
"""

import argparse
import asyncio
import email
import email.policy
import json
import os
import sys
import threading

from aiosmtpd.smtp import SMTP


class Sink:
    async def handle_RCPT(self, server, session, envelope, address, options):
        local = address.split("@")[0]
        if local == "tempfail":
            return "451 4.3.0 try again later"
        if local == "permfail":
            return "550 5.1.1 no such mailbox"
        if local == "policy":
            return "550 5.7.1 relaying denied"
        if local == "slow":
            await asyncio.sleep(60)
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 fine"

    async def handle_DATA(self, server, session, envelope):
        if envelope.rcpt_tos[0].startswith("datafail@"):
            return "554 5.6.0 not this message"
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        parts = {
            part.get_content_type(): part.get_content()
            for part in message.walk()
            if not part.is_multipart()
        }
        defects = [str(defect) for part in message.walk() for defect in part.defects]
        line = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "peer_port": session.peer[1],
            "headers": {name.lower(): str(value) for name, value in message.items()},
            "header_names": [name.lower() for name in message.keys()],
            "type": message.get_content_type(),
            "parts": parts,
            "defects": defects,
            "raw": envelope.content.decode("ascii"),
        }
        print(json.dumps(line), flush=True)
        return "250 2.0.0 accepted"


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--until-eof", action="store_true", help="end with standard input")
    options = parser.parse_args()
    if options.until_eof:
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(Sink(), hostname="sink.test", loop=loop), "127.0.0.1", options.port
    )
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(0)
