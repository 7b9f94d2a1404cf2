import NIOCore
import NIOPosix
package import Poller
import PollerWords
import ServiceLifecycle

/// Tells a customer by mail, handed to a relay over SMTP.
///
/// *Who is told what*: what ``MailNews`` finds in an event, unless the ``SuppressionList`` names the
/// recipient; then the delivery ends as if it had been made, with the reason in its log. A relay
/// that knows no such mailbox puts the recipient on that list. Operators are told of incidents
/// (``IncidentMail``), whatever that list says.
/// *Order*: the address is checked, then the list is asked, then words are found, then a thread is
/// waited for: an attempt that cannot succeed takes no thread from one that can.
/// *Limits*: 30 s an attempt, of which up to 15 s for a free thread and 10 s to connect.
/// *At least once*: a relay whose answer to the message is lost may get it again, with the same
/// `Message-ID`.
///
/// Run it as a service listed before the notifier, so that its threads end after it.
package struct EmailChannel: DeliveryChannel, Service {
    /// libcurl blocks; a relay takes tens of milliseconds a mail, so eight keep 100 a second going.
    private static let threads = 8
    /// All in all, a turn to send included.
    private static let attempt = Duration.seconds(30)

    package let schemes: Set<String> = ["mailto"]
    package let isSuperseding = true
    package let readsWatch = true
    package let timeout = Self.attempt
    package let schedule: RetrySchedule

    private let relay: SMTPRelay
    private let sender: MailSender
    private let branding: @Sendable () -> [AccountID: Branding]
    private let unsubscribeLinks: UnsubscribeLinks?
    private let publicURL: String?
    private let templates: MailTemplates
    private let suppressions: (any SuppressionList)?
    private let pool: NIOThreadPool
    private let limiter = RelayLimiter(threads: Self.threads)
    private let slots = ThreadSpecificVariable<SMTPSlot>()

    /// A channel through `relay`; its threads wait until they are needed.
    ///
    /// - Parameters:
    ///   - relay: the mail server that takes our mail.
    ///   - sender: who it comes from; an account with a name of its own goes before.
    ///   - branding: tells whose payments they are, by account.
    ///   - unsubscribeLinks: where customers stop our mails; nil when there is no such address.
    ///   - publicURL: where payers find our pages; nil where they do not.
    ///   - templates: what a mail looks like, and its words.
    ///   - suppressions: who must not be sent mail; nil for nobody.
    ///   - schedule: the waits between attempts.
    package init(
        relay: SMTPRelay,
        sender: MailSender,
        branding: @escaping @Sendable () -> [AccountID: Branding] = { [:] },
        unsubscribeLinks: UnsubscribeLinks? = nil,
        publicURL: String? = nil,
        templates: MailTemplates = .standard,
        suppressions: (any SuppressionList)? = nil,
        schedule: RetrySchedule = .email
    ) {
        self.relay = relay
        self.sender = sender
        self.branding = branding
        self.unsubscribeLinks = unsubscribeLinks
        self.publicURL = publicURL
        self.templates = templates
        self.suppressions = suppressions
        self.schedule = schedule
        pool = NIOThreadPool(numberOfThreads: Self.threads)
        pool.start()
    }

    /// Keeps the threads until shutdown, then ends them.
    package func run() async {
        // Cancelled is as good a reason to end as a graceful shutdown.
        try? await gracefulShutdown()
        await close()
    }

    /// Ends the threads; attempts not yet begun fail.
    package func close() async {
        // Fails only when it is closed already.
        try? await pool.shutdownGracefully()
    }

    package func wants(_ event: Event) -> Bool {
        MailNews(event) != nil || Incident(event) != nil
    }

    package func deliver(
        _ event: Event,
        to target: DeliveryTarget,
        attempt: Int
    ) async -> AttemptResult {
        let recipient: MailAddress
        do throws(InvalidInput) {
            recipient = try MailAddress(target.url)
        } catch {
            return .rejected("the mail address \(error.message)", .unusable)
        }
        let account = event.key.account
        if let incident = Incident(event) {
            let message = MailMessage(
                event,
                IncidentMail.content(incident, publicURL: publicURL),
                to: recipient,
                from: sender,
                endpoint: target.id(account: account)
            )
            return await handOver(message, to: target)
        }
        do {
            if let reason = try await suppressions?.reason(for: recipient, of: account) {
                return .skipped("the recipient is suppressed: \(reason.rawValue)")
            }
        } catch {
            return .failed("the suppression list cannot be read: \(error)", .local)
        }
        // Recorded before it was decided that such events are not mailed.
        guard let news = MailNews(event, of: target.snapshot, publicURL: publicURL)
        else {
            return .skipped("there is nothing to tell a payer")
        }
        let message = message(event, news, to: recipient, endpoint: target.id(account: account))
        return await handOver(message, to: target)
    }

    private func handOver(_ message: MailMessage, to target: DeliveryTarget) async -> AttemptResult
    {
        let limit = min(target.endpoint?.timeout ?? timeout, timeout)
        let (result, isHardBounce) = await hand(over: message, within: limit)
        if isHardBounce {
            // When that fails the next mail bounces again, and is noted then.
            try? await suppressions?.suppress(
                SuppressionEntry(everywhere: message.recipient),
                because: .hardBounce
            )
        }
        return result
    }

    private func message(
        _ event: Event,
        _ news: MailNews,
        to recipient: MailAddress,
        endpoint: EndpointID
    ) -> MailMessage {
        let account = event.key.account
        let shop = branding()[account]
        let unsubscribe = unsubscribeLinks?.url(
            for: recipient,
            of: account,
            in: news.language ?? shop?.language ?? .en
        )
        return MailMessage(
            event,
            templates.content(news, branding: shop, unsubscribe: unsubscribe),
            to: recipient,
            from: shop.map { MailSender(name: $0.name, address: sender.address) } ?? sender,
            endpoint: endpoint,
            replyTo: shop?.support,
            unsubscribe: unsubscribe
        )
    }

    private func hand(
        over message: MailMessage,
        within limit: Duration
    ) async -> (AttemptResult, isHardBounce: Bool) {
        let end = NIODeadline.now() + .milliseconds(limit.ms)
        guard await limiter.enter() else {
            return (.failed("the mail relay is too slow: no turn to send", .local), false)
        }
        defer { limiter.leave() }
        let abort = AbortFlag()
        do {
            return try await withTaskCancellationHandler {
                try await pool.runIfActive { send(message, until: end, abort: abort) }
            } onCancel: {
                abort.raise()
            }
        } catch {
            return (.failed("mail not sent: the process is shutting down", .local), false)
        }
    }

    /// Runs on one of our threads.
    private func send(
        _ message: MailMessage,
        until end: NIODeadline,
        abort: AbortFlag
    ) -> (AttemptResult, isHardBounce: Bool) {
        let slot = slots.currentValue ?? SMTPSlot()
        slots.currentValue = slot
        let reply = slot.withSession { session in
            session.send(
                message,
                from: sender.address,
                through: relay,
                // Not 0, which libcurl takes for no limit.
                timeoutMs: max(Int(clamping: (end - .now()).nanoseconds / 1_000_000), 1),
                abort: abort
            )
        }
        guard let reply else { return (.failed("libcurl cannot start", .local), false) }
        return (reply.result, reply.isHardBounce)
    }
}

/// Who our mail comes from: `POLLER_MAIL_FROM`, an address or `Name <address>`.
package struct MailSender: Hashable, Sendable {
    /// Shown by mail programs; empty when there is none.
    package let name: String
    package let address: MailAddress

    /// A sender under a shop's name.
    init(name: String, address: MailAddress) {
        self.name = name
        self.address = address
    }

    /// Reads a sender.
    package init(_ text: String) throws(InvalidInput) {
        guard text.hasSuffix(">"), let open = text.lastIndex(of: "<") else {
            name = ""
            address = try MailAddress(text, field: "mail_from")
            return
        }
        let inner = text[text.index(after: open)...].dropLast()
        address = try MailAddress(inner, field: "mail_from")
        let shown = text[..<open].drop { $0 == " " || $0 == "\"" }
        name = String(
            String(shown.reversed().drop { $0 == " " || $0 == "\"" }.reversed())
                .unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        )
    }
}

/// Where customers stop our mails: the API's public address and the tokens it believes.
package struct UnsubscribeLinks: Sendable {
    private let base: String
    private let tokens: UnsubscribeTokens

    /// Links at `base`, the API's address without a slash at its end.
    package init(base: String, tokens: UnsubscribeTokens) {
        self.base = base
        self.tokens = tokens
    }

    /// The link that stops an account's mails to a recipient; its page is the shop's, in the mail's language.
    func url(
        for recipient: MailAddress,
        of account: AccountID,
        in language: PayerLanguage
    ) -> String {
        let entry = SuppressionEntry(recipient, of: account)
        return "\(base)/u/\(tokens.text(for: entry))"
            + "?v=\(language.rawValue).\(tokens.sender(account, of: entry))"
    }
}
