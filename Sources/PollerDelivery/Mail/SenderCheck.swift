package import Logging
import NIOPosix
package import Poller
import ServiceLifecycle

/// Asks the relay whether it takes mail from each sender, when a notifier starts and when a file names another.
///
/// *Problem*: relays let an account send from some addresses only. A shop's `mail_from` that the relay does not know
/// would be found by the first mail to a payer, hours later.
/// *Approach*: each sender until it is accepted, with `MAIL FROM` and nothing else (``SMTPSession``). A refusal is
/// logged with the accounts that have the sender, and noted as trouble of the relay again and again while it holds:
/// mails of other senders that are accepted would end an old trouble. A relay that cannot be reached, or answers
/// something else (a 4xx, a login that it refuses), has said nothing about the sender and is asked again; mails tell
/// of that themselves.
/// *Limit*: a relay that decides at `RCPT` or `DATA` is not seen through here.
package struct SenderCheck<C: Clock>: Service where C.Duration == Duration {
    /// How soon a sender that a reload has brought is asked about, and a relay that did not answer asked again.
    private static var pace: Duration { .seconds(60) }
    /// After so many rounds a relay is asked again that has refused a sender, or has answered something else.
    ///
    /// Well within the hour for which a refusal is trouble (``RelayTrouble``).
    private static var roundsBetween: Int { 10 }
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
            var known: [MailAddress: SenderAnswer] = [:]
            var askedAt: [MailAddress: Int] = [:]
            var round = 0
            while !Task.isCancelled {
                for (address, accounts) in senders() {
                    let before = known[address]
                    let rounds = round - (askedAt[address] ?? round)
                    guard Self.isDue(before, after: rounds) else { continue }
                    let answer = await ask(address)
                    (known[address], askedAt[address]) = (answer, round)
                    if case .refused(let refusal) = answer {
                        await tell(refusal, of: address, accounts, isNew: answer != before)
                    }
                }
                round += 1
                // Cancelled: the loop's condition ends it.
                try? await clock.sleep(for: Self.pace)
            }
        }
    }

    /// Whether a sender is asked about again, so many rounds after an answer.
    private static func isDue(_ answer: SenderAnswer?, after rounds: Int) -> Bool {
        switch answer {
        case .accepted?: false
        case .refused?, .unclear?: rounds >= roundsBetween
        case .silence?, nil: true
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

    /// Asks about one sender.
    private func ask(_ address: MailAddress) async -> SenderAnswer {
        // libcurl blocks; the process's own threads for that are few, and most senders are asked about once.
        let reply = try? await NIOThreadPool.singleton.runIfActive { [relay] in
            SMTPSession()?.ask(about: address, at: relay, timeoutMs: Self.timeoutMs)
        }
        guard let reply else { return .silence }
        if let refusal = reply.refusalOfSender { return .refused(refusal) }
        if reply.isSenderAccepted { return .accepted }
        return reply.status > 0 ? .unclear : .silence
    }

    /// Notes a refusal, and logs one that is new.
    private func tell(
        _ refusal: String,
        of address: MailAddress,
        _ accounts: [AccountID],
        isNew: Bool
    ) async {
        if isNew {
            let names = accounts.map(\.description).joined(separator: ", ")
            logger.error(
                "the relay refuses a sender of mails",
                metadata: [
                    "sender": "\(address)", "accounts": "\(names.isEmpty ? "all others" : names)",
                    "answer": "\(refusal)",
                    "hint": "have the relay accept the address, or set another mail_from",
                ]
            )
        }
        // What cannot be noted now is noted with a mail, or with the next answer.
        try? await troubles?.noteRefusal("sender \(address): \(refusal)", at: wallClock())
    }
}

/// What a relay has said of a sender.
private enum SenderAnswer: Hashable, Sendable {
    case accepted
    case refused(String)
    /// Something else.
    case unclear
    /// Nothing at all.
    case silence
}
