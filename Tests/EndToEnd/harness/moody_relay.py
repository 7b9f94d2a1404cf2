"""A mail relay for runs with many mails, which can be made to refuse mails and to greet late."""

from .mail_sink import MailSink
from .receipts import LeanReceipts
from .way import Way


class MoodyRelay(MailSink):
    """A `MailSink` behind a proxy, `way`. It keeps the receipts of mails and not their text.

    `refusal` refuses every recipient. While `way` is stalled, a new connection is accepted and not greeted.
    """

    def __init__(self):
        super().__init__()
        self.receipts = LeanReceipts()
        self.way = Way(self._controller.port)
        self.url = f"smtp://127.0.0.1:{self.way.port}"

    async def handle_DATA(self, server, session, envelope) -> str:
        answer = await super().handle_DATA(server, session, envelope)
        self.messages.clear()
        return answer

    def close(self) -> None:
        self.way.close()
        super().close()
