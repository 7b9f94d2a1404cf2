"""Receives mail with the independent library `aiosmtpd` and parses it with Python's package `email`.

Prints one JSON object per line: first {"port": N}, then one for each mail:
{"from", "to", "peer_port", "headers", "parts": {"text/plain": …, "text/html": …}, "defects", "raw"}.

The recipient determines the reply: tempfail@… gets 451, permfail@… 550 for an unknown mailbox, and policy@… 550 for
policy. mute@… gets 550 and no reply to a later QUIT, and curt@… 550 and 421 to a later QUIT. Each name in REFUSALS
gets its reply there. datafail@… gets 554 after the message, and slow@… gets the reply to its RCPT after a minute.
Every other mail is accepted. The sender refused@… is rejected. The sender doubtful@… gets 451 once and is rejected
after that.
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


# Policy rejections of real relays that have no RFC 3463 status code.
REFUSALS = {
    "greylisted": "550 You have been greylisted",
    "hourly": "550 Domain shop.example has exceeded the max emails per hour (150/150)",
    "listed": "553 your address is in an RBL",
    "nameless": "554 no PTR record for your address",
    "quota": "551 sending quota exceeded",
    "plain": "550 must issue a STARTTLS command first",
}


class Sink:
    # The senders that have received a 451.
    doubted = set()

    async def handle_MAIL(self, server, session, envelope, address, options):
        if address.startswith("doubtful@") and address not in self.doubted:
            self.doubted.add(address)
            return "451 4.7.1 ask again later"
        if address.startswith(("refused@", "doubtful@")):
            return "553 5.7.1 sender address rejected: not owned by user shop"
        envelope.mail_from = address
        return "250 2.1.0 fine"

    async def handle_RCPT(self, server, session, envelope, address, options):
        local = address.split("@")[0]
        if local == "tempfail":
            return "451 4.3.0 try again later"
        if local == "permfail":
            return "550 5.1.1 no such mailbox"
        if local == "mute":
            session.is_mute = True
            return "550 5.1.1 no such mailbox"
        if local == "curt":
            session.is_curt = True
            return "550 5.1.1 no such mailbox"
        if local == "policy":
            return "550 5.7.1 relaying denied"
        if local in REFUSALS:
            return REFUSALS[local]
        if local == "slow":
            await asyncio.sleep(60)
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 fine"

    async def handle_QUIT(self, server, session, envelope):
        if getattr(session, "is_mute", False):
            await asyncio.sleep(60)
        if getattr(session, "is_curt", False):
            return "421 4.7.0 too many errors"
        return "221 2.0.0 bye"

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


class Hesitant(SMTP):
    """Delays its greeting, as relays do for unknown clients, and limits the mails per connection."""

    greet_after = 0.0
    # The number of mails after which the connection closes without a reply; 0 means no limit.
    mails_max = 0
    mails = 0

    async def smtp_MAIL(self, arg):
        self.mails += 1
        if self.mails_max and self.mails > self.mails_max:
            self.transport.close()
            return
        await super().smtp_MAIL(arg)

    async def _handle_client(self):
        await asyncio.sleep(self.greet_after)
        await super()._handle_client()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--greet-after", type=float, default=0.0, help="seconds")
    parser.add_argument("--mails-per-connection", type=int, default=0)
    parser.add_argument("--until-eof", action="store_true", help="end with standard input")
    options = parser.parse_args()
    if options.until_eof:
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    Hesitant.greet_after = options.greet_after
    Hesitant.mails_max = options.mails_per_connection
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Hesitant(Sink(), hostname="sink.test", loop=loop), "127.0.0.1", options.port
    )
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(0)
