package import Logging
import NIOPosix
package import PollerDeliveries
package import PollerIdentity
package import PollerPayments
import ServiceLifecycle

/// Checks with the relay that it accepts each sender, when a notifier starts and when a file names another.
///
/// *Problem*: relays let an account send from some addresses only. Without this check, the first mail to a payer, hours
/// later, would reveal a `mail_from` of a shop that the relay does not accept.
/// *Approach*: it checks each sender until the relay accepts it, with `MAIL FROM` and nothing else (``SMTPSession``). A
/// refusal is logged with the accounts that have the sender. It is noted as a failure of the relay repeatedly while it
/// lasts, because accepted mails of other senders would end an old failure. If the relay cannot be reached, or answers
/// with another error (a 4xx, a refused login), its answer says nothing about the sender, and the check is repeated.
/// The mails themselves report such errors.
/// *Limit*: the check does not detect a relay that decides at `RCPT` or `DATA`.
package struct SenderCheck<C: Clock>: Service where C.Duration == Duration {
    /// The longest time until a new sender is checked after a reload, and until a silent relay is tried again.
    private static var pace: Duration { .seconds(60) }
    /// The number of rounds until a sender is checked again that the relay rejected or did not clearly accept.
    ///
    /// This is well within the hour for which a refusal needs attention (``RelayFailures``).
    private static var roundsBetween: Int { 10 }
    private static var timeoutMs: Int { 30_000 }

    private let relay: SMTPRelay
    private let sender: MailSender
    private let branding: @Sendable () -> [AccountID: Branding]
    private let failures: (any RelayFailureStore)?
    private let clock: C
    private let wallClock: @Sendable () -> Timestamp
    private let logger: Logger

    /// Creates a check of `sender` and the senders of `branding` against `relay`.
    package init(
        relay: SMTPRelay,
        sender: MailSender,
        branding: @escaping @Sendable () -> [AccountID: Branding],
        failures: (any RelayFailureStore)?,
        clock: C,
        wallClock: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.relay = relay
        self.sender = sender
        self.branding = branding
        self.failures = failures
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
    }

    /// Checks senders until shut down or cancelled.
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
                    let answer = await checkSender(address)
                    (known[address], askedAt[address]) = (answer, round)
                    if case .refused(let refusal) = answer {
                        await reportRefusal(refusal, of: address, accounts, isNew: answer != before)
                    }
                }
                round += 1
                // After a cancellation the loop's condition ends it.
                try? await clock.sleep(for: Self.pace)
            }
        }
    }

    /// Whether a sender is checked again after this number of rounds since the answer.
    private static func isDue(_ answer: SenderAnswer?, after rounds: Int) -> Bool {
        switch answer {
        case .accepted?: false
        case .refused?, .unclear?: rounds >= roundsBetween
        case .silence?, nil: true
        }
    }

    /// Every sender address, with the accounts that have it as their own.
    private func senders() -> [(MailAddress, [AccountID])] {
        var found: [MailAddress: [AccountID]] = [sender.address: []]
        for (account, shop) in branding() {
            let address = sender.sender(of: shop).address
            if address != sender.address { found[address, default: []].append(account) }
        }
        return found.map { ($0, $1.sorted { "\($0)" < "\($1)" }) }
            .sorted { "\($0.0)" < "\($1.0)" }
    }

    private func checkSender(_ address: MailAddress) async -> SenderAnswer {
        // libcurl blocks. The process has few threads for that, and most senders are checked only once.
        let reply = try? await NIOThreadPool.singleton.runIfActive { [relay] in
            SMTPSession()?.checkSender(about: address, at: relay, timeoutMs: Self.timeoutMs)
        }
        guard let reply else { return .silence }
        if let refusal = reply.refusalOfSender { return .refused(refusal) }
        if reply.isSenderAccepted { return .accepted }
        return reply.status > 0 ? .unclear : .silence
    }

    /// Records a refusal, and logs it if it is new.
    private func reportRefusal(
        _ refusal: String,
        of address: MailAddress,
        _ accounts: [AccountID],
        isNew: Bool
    ) async {
        if isNew {
            let names = accounts.map(\.description).joined(separator: ", ")
            logger.error(
                "the relay refuses a sender address",
                metadata: [
                    "sender": "\(address)", "accounts": "\(names.isEmpty ? "all others" : names)",
                    "answer": "\(refusal)",
                    "hint": "allow the address at the relay, or set another mail_from",
                ]
            )
        }
        // A refusal that cannot be stored now is stored with a mail, or with the next check.
        try? await failures?.noteRefusal("sender \(address): \(refusal)", at: wallClock())
    }
}

/// The relay's answer about a sender.
private enum SenderAnswer: Hashable, Sendable {
    case accepted
    case refused(String)
    /// Another answer.
    case unclear
    /// No answer.
    case silence
}
