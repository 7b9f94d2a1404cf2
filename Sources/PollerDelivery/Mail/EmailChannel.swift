import NIOCore
import NIOPosix
package import Poller
package import PollerIdentity
import PollerQueue
import PollerWords
import ServiceLifecycle

/// Tells a customer by mail, handed to a relay over SMTP.
///
/// *Who is told what*: what ``PaymentMail`` finds in an event, unless the ``SuppressionList`` names the
/// recipient; then the delivery ends as if it had been made, with the reason in its log. A relay
/// that knows no such mailbox on two days (``MailboxRefusal``) puts the recipient on that list, for this account.
/// What it refuses otherwise is tried again, and noted for operators (``RelayTrouble``). Operators are told of
/// incidents (``IncidentMail``), whatever that list says.
/// *Order*: the address is checked, then the list is asked, then words are found, then a thread is
/// waited for: an attempt that cannot succeed takes no thread from one that can.
/// *Limits*: what the lease of a delivery leaves for an attempt, 30 s or more, of which up to 15 s for a free thread; a
/// relay that needs the minutes of RFC 5321 §4.5.3.2 needs a longer `delivery_lease`.
/// *At least once*: a relay whose answer to the message is lost may get it again, with the same
/// `Message-ID`.
///
/// Run it as a service listed before the notifier, so that its threads end after it.
package struct EmailChannel: DeliveryChannel, Service {
    /// libcurl blocks; a relay takes tens of milliseconds a mail, so eight keep 100 a second going.
    private static let threads = 8
    package let schemes: Set<String> = ["mailto"]
    package let isSuperseding = true
    package let readsWatch = true
    /// All in all, a turn to send included.
    package let timeout: Duration
    package let schedule: RetrySchedule

    private let relay: SMTPRelay
    private let sender: MailSender
    private let branding: @Sendable () -> [AccountID: Branding]
    private let unsubscribeLinks: UnsubscribeLinks?
    private let publicURL: String?
    private let templates: MailTemplates
    private let suppressions: (any SuppressionList)?
    private let relayTroubles: (any RelayTroubleStore)?
    private let wallClock: @Sendable () -> Timestamp
    private let pool: NIOThreadPool
    private let limiter = RelayLimiter(threads: Self.threads)
    private let slots = ThreadSpecificVariable<SMTPSlot>()

    /// A channel through `relay`; its threads wait until they are needed.
    ///
    /// - Parameters:
    ///   - relay: the mail server that takes our mail.
    ///   - sender: the default sender; an account has its own name and may have its own address
    ///     (``Branding/mailFrom``).
    ///   - branding: tells whose payments they are, by account.
    ///   - unsubscribeLinks: where customers stop our mails; nil when there is no such address.
    ///   - publicURL: where payers find our pages; nil where they do not.
    ///   - templates: what a mail looks like, and its words.
    ///   - suppressions: who must not be sent mail; nil for nobody.
    ///   - relayTroubles: where it is noted what the relay refuses; nil where nobody reads it.
    ///   - timeout: for an attempt; the lease of a delivery is longer.
    ///   - wallClock: tells on which day a mailbox was refused.
    ///   - schedule: the waits between attempts.
    package init(
        relay: SMTPRelay,
        sender: MailSender,
        branding: @escaping @Sendable () -> [AccountID: Branding] = { [:] },
        unsubscribeLinks: UnsubscribeLinks? = nil,
        publicURL: String? = nil,
        templates: MailTemplates = .standard,
        suppressions: (any SuppressionList)? = nil,
        relayTroubles: (any RelayTroubleStore)? = nil,
        timeout: Duration = .seconds(30),
        wallClock: @escaping @Sendable () -> Timestamp,
        schedule: RetrySchedule = .email
    ) {
        self.relay = relay
        self.sender = sender
        self.branding = branding
        self.unsubscribeLinks = unsubscribeLinks
        self.publicURL = publicURL
        self.templates = templates
        self.suppressions = suppressions
        self.relayTroubles = relayTroubles
        self.timeout = timeout
        self.wallClock = wallClock
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
        PaymentMail(event) != nil || Incident(event) != nil
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
            return await handOver(message, to: target, of: nil)
        }
        do {
            if let reason = try await suppressions?.reason(for: recipient, of: account) {
                return .skipped("the recipient is suppressed: \(reason.rawValue)")
            }
        } catch {
            return .failed("the suppression list cannot be read: \(error)", .local)
        }
        // Recorded before it was decided that such events are not mailed.
        guard let mail = PaymentMail(event, of: target.snapshot, publicURL: publicURL)
        else {
            return .skipped("there is nothing to tell a payer")
        }
        let content = content(mail, of: account, unsubscribe: link(recipient, account, mail))
        let message = message(
            event,
            mail,
            content,
            to: recipient,
            endpoint: target.id(account: account)
        )
        var result = await handOver(message, to: target, of: account)
        result.digest = content.digest(to: recipient)
        return result
    }

    /// The mail about an event, without the links that act for the payer, because its reader here is not the payer.
    package func message(of event: Event, to target: DeliveryTarget) async -> SentMessage? {
        guard let recipient = try? MailAddress(target.url) else { return nil }
        let account = event.key.account
        if let incident = Incident(event) {
            let content = IncidentMail.content(incident, publicURL: publicURL)
            return content.message(to: recipient, shown: content.text)
        }
        guard let mail = PaymentMail(event, of: target.snapshot, publicURL: publicURL),
            let hidden = PaymentMail(event, of: target.snapshot)
        else { return nil }
        let link = link(recipient, account, mail)
        let shown = content(hidden, of: account, unsubscribe: link.map { _ in Self.hiddenLink })
        return content(mail, of: account, unsubscribe: link).message(
            to: recipient,
            shown: shown.text
        )
    }

    /// Sends a mail, and notes what the relay's answer says; `account` is nil for a mail to operators, whom nothing
    /// suppresses.
    private func handOver(
        _ message: MailMessage,
        to target: DeliveryTarget,
        of account: AccountID?
    ) async -> AttemptResult {
        let limit = min(target.endpoint?.timeout ?? timeout, timeout)
        let (result, finding) = await hand(over: message, within: limit)
        // The mail counts; what cannot be noted now is noted with the next one.
        try? await note(finding, message.recipient, account)
        return result
    }

    private func note(
        _ finding: SMTPReply.Finding,
        _ recipient: MailAddress,
        _ account: AccountID?
    ) async throws(StoreError) {
        let entry = account.map { SuppressionEntry(recipient, of: $0) }
        switch finding {
        case .nothing: break
        case .accepted:
            if let entry { try await suppressions?.forgetRefusals(entry) }
            try await relayTroubles?.noteAcceptance(at: wallClock())
        case .missingMailbox:
            if let account { try await refused(recipient, account) }
        case .relayTrouble(let answer):
            // Operators are not told who was written to.
            let shown = Excerpt.text(answer.utf8, hiding: Redaction([recipient.description]))
            try await relayTroubles?.noteRefusal(shown, at: wallClock())
        }
    }

    /// Suppresses a recipient whose mailbox is missing on another day, too.
    private func refused(
        _ recipient: MailAddress,
        _ account: AccountID
    ) async throws(StoreError) {
        guard let suppressions else { return }
        let (entry, now) = (SuppressionEntry(recipient, of: account), wallClock())
        let first = try await suppressions.noteRefusal(entry, at: now)
        guard MailboxRefusal.isConfirmed(first: first, now: now) else { return }
        try await suppressions.suppress(
            entry,
            because: .hardBounce,
            noting: SuppressionNote(recipient: recipient, account: account, at: now)
        )
    }

    /// The replacement for a link that only the recipient may follow.
    private static let hiddenLink = "(a link for the recipient only)"

    private func link(
        _ recipient: MailAddress,
        _ account: AccountID,
        _ mail: PaymentMail
    ) -> String? {
        unsubscribeLinks?.url(
            for: recipient,
            of: account,
            in: mail.language ?? branding()[account]?.language ?? .en
        )
    }

    private func content(
        _ mail: PaymentMail,
        of account: AccountID,
        unsubscribe: String?
    ) -> MailContent {
        templates.content(mail, branding: branding()[account], unsubscribe: unsubscribe)
    }

    private func message(
        _ event: Event,
        _ mail: PaymentMail,
        _ content: MailContent,
        to recipient: MailAddress,
        endpoint: EndpointID
    ) -> MailMessage {
        let account = event.key.account
        let shop = branding()[account]
        return MailMessage(
            event,
            content,
            to: recipient,
            from: sender.sender(of: shop),
            endpoint: endpoint,
            replyTo: shop?.support,
            unsubscribe: link(recipient, account, mail)
        )
    }

    private func hand(
        over message: MailMessage,
        within limit: Duration
    ) async -> (AttemptResult, SMTPReply.Finding) {
        let end = NIODeadline.now() + .milliseconds(limit.ms)
        guard await limiter.enter() else {
            return (.failed("the mail relay is too slow: no turn to send", .local), .nothing)
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
            return (.failed("mail not sent: the process is shutting down", .local), .nothing)
        }
    }

    /// Runs on one of our threads.
    private func send(
        _ message: MailMessage,
        until end: NIODeadline,
        abort: AbortFlag
    ) -> (AttemptResult, SMTPReply.Finding) {
        let slot = slots.currentValue ?? SMTPSlot()
        slots.currentValue = slot
        let reply = slot.withSession { session in
            func send(isFresh: Bool) -> SMTPReply {
                session.send(
                    message,
                    from: message.sender,
                    through: relay,
                    isFresh: isFresh,
                    // Not 0, which libcurl takes for no limit.
                    timeoutMs: max(Int(clamping: (end - .now()).nanoseconds / 1_000_000), 1),
                    abort: abort
                )
            }
            let reply = send(isFresh: false)
            return reply.isEndOfConnection ? send(isFresh: true) : reply
        }
        guard let reply else { return (.failed("libcurl cannot start", .local), .nothing) }
        return (reply.result, reply.finding)
    }
}

extension MailContent {
    /// The digest by which the mail is identified.
    fileprivate func digest(to recipient: MailAddress) -> String {
        SentMessage.digest(of: text, subject: subject, to: recipient.description)
    }

    /// The mail for people; `shown` is its text without links that act for the payer.
    fileprivate func message(to recipient: MailAddress, shown: String) -> SentMessage {
        SentMessage(
            type: "text/plain; charset=utf-8",
            recipient: recipient.description,
            subject: subject,
            composed: text,
            text: shown
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
            + ".\(tokens.hint(of: recipient, in: entry))"
    }
}
