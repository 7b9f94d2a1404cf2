package import Logging
import NIOPosix
package import Poller
import ServiceLifecycle

/// Asks the relay whether it takes mail from each sender, when a notifier starts and when a file names another.
///
/// *Problem*: relays let an account send from some addresses only. A shop's `mail_from` that the relay does not know
/// would be found by the first mail to a payer, hours later.
/// *Approach*: each sender once, with `MAIL FROM` and nothing else (``SMTPSession``). A refusal is logged with the
/// accounts that have the sender, and noted as trouble of the relay, which is an incident when it lasts. A relay that
/// cannot be reached is asked again; mails tell of that themselves.
/// *Limit*: a relay that decides at `RCPT` or `DATA` is not seen through here.
package struct SenderCheck<C: Clock>: Service where C.Duration == Duration {
    /// How soon a sender that a reload has brought is asked about, and a relay that did not answer asked again.
    private static var pace: Duration { .seconds(60) }
    private static var timeoutMs: Int { 30_000 }

    private let relay: SMTPRelay
    private let sender: MailSender
    private let branding: @Sendable () -> [AccountID: Branding]
    private let troubles: (any RelayTroubleStore)?
    private let clock: C
    private let wallClock: @Sendable () -> Timestamp
    private let logger: Logger

    /// Checks `sender` and those of `branding` against `relay`.
    package init(
        relay: SMTPRelay,
        sender: MailSender,
        branding: @escaping @Sendable () -> [AccountID: Branding],
        troubles: (any RelayTroubleStore)?,
        clock: C,
        wallClock: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.relay = relay
        self.sender = sender
        self.branding = branding
        self.troubles = troubles
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
    }

    /// Asks until shut down or cancelled.
    package func run() async {
        await cancelWhenGracefulShutdown {
            var known: Set<MailAddress> = []
            while !Task.isCancelled {
                for (address, accounts) in senders() where !known.contains(address) {
                    if await check(address, of: accounts) { known.insert(address) }
                }
                // Cancelled: the loop's condition ends it.
                try? await clock.sleep(for: Self.pace)
            }
        }
    }

    /// Every address that mails come from, with the accounts that have it as their own.
    private func senders() -> [(MailAddress, [AccountID])] {
        var found: [MailAddress: [AccountID]] = [sender.address: []]
        for (account, shop) in branding() {
            let address = sender.sender(of: shop).address
            if address != sender.address { found[address, default: []].append(account) }
        }
        return found.map { ($0, $1.sorted { "\($0)" < "\($1)" }) }
            .sorted { "\($0.0)" < "\($1.0)" }
    }

    /// Asks about one sender; false when the relay has said nothing.
    private func check(_ address: MailAddress, of accounts: [AccountID]) async -> Bool {
        // libcurl blocks; the process's own threads for that are few, and this is once a start.
        let reply = try? await NIOThreadPool.singleton.runIfActive { [relay] in
            SMTPSession()?.ask(about: address, at: relay, timeoutMs: Self.timeoutMs)
        }
        guard let reply else { return false }
        guard let refusal = reply.refusalOfSender else { return reply.status > 0 }
        let names = accounts.map(\.description).joined(separator: ", ")
        logger.error(
            "the relay refuses a sender of mails",
            metadata: [
                "sender": "\(address)", "accounts": "\(names.isEmpty ? "all others" : names)",
                "answer": "\(refusal)",
                "hint": "have the relay accept the address, or set another mail_from",
            ]
        )
        // It is in the log; what cannot be noted now is noted with a mail.
        try? await troubles?.noteRefusal("sender \(address): \(refusal)", at: wallClock())
        return true
    }
}
