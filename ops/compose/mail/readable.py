"""A handler of aiosmtpd that prints mails as readable text.

    python -m aiosmtpd -n -l 127.0.0.1:2525 -c readable.Readable
"""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any, cast

HEADERS = ("From", "To", "Subject")
RULE = "─" * 72


def readable(mail: EmailMessage) -> str:
    """Returns the main headers and the decoded text."""
    heads = [f"{name}: {mail[name]}" for name in HEADERS if mail[name]]
    body = mail.get_body(preferencelist=("plain", "html"))
    text = body.get_content() if body else "(no text)"
    return "\n".join([RULE, *heads, "", text.rstrip(), RULE])


class Readable:
    """Accepts every mail and prints it."""

    @classmethod
    def from_cli(cls, parser: Any, *arguments: str) -> "Readable":
        """Creates the handler for aiosmtpd; it has no settings."""
        if arguments:
            parser.error("readable.Readable takes no arguments")
        return cls()

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        """Prints a received mail."""
        mail = cast(EmailMessage, message_from_bytes(envelope.content, policy=default))
        print(readable(mail), flush=True)
        return "250 OK"
