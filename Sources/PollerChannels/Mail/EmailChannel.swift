import NIOCore
import NIOPosix
package import PollerDeliveries
package import PollerIdentity
import PollerIncidents
import PollerLocalization
package import PollerPayments
import PollerQueue
package import PollerWatches
import ServiceLifecycle

/// Delivers events by email through an SMTP relay.
///
/// *Recipients*: the payer gets the mails that ``PaymentMail`` derives from events. If the ``SuppressionList`` has
/// the recipient, no mail is sent: the delivery ends successfully, with the reason in its log. A mailbox that the
/// relay reports as missing on two days (``MailboxRefusal``) is added to that list, for this account. Other refusals
/// are retried and recorded for operators (``RelayFailures``). Operators get mails about incidents (``IncidentMail``)
/// regardless of that list.
/// *Order*: the address is checked, then the list, then the text is written, then a thread is acquired. An attempt
/// that cannot succeed takes no thread from one that can.
/// *Limits*: an attempt has the time that the delivery's lease leaves, at least 30 s, of which up to 15 s are for a
/// free thread. A relay that needs the minutes of RFC 5321 §4.5.3.2 requires a longer `delivery_lease`.
/// *At least once*: if the relay's response to a message is lost, the relay may get the message again, with the same
/// `Message-ID`.
///
/// Run it as a service listed before the notifier, so that its threads end after the notifier has stopped.
package struct EmailChannel: DeliveryChannel, Service {
    /// The number of threads.
    ///
    /// libcurl blocks its thread. A relay takes tens of milliseconds per mail, so eight threads send 100 mails a
    /// second.
    private static let threads = 8
    /// The longest wait for the ends of the threads at shutdown.
    private static let quitPatience = Duration.seconds(2)
    package let schemes: Set<String> = ["mailto"]
    package let isSuperseding = true
    package let readsWatch = true
    /// The limit for an attempt, including the wait for a thread.
    package let timeout: Duration
    package let schedule: RetrySchedule

    private let relay: SMTPRelay
    private let sender: MailSender
    private let branding: @Sendable () -> [AccountID: Branding]
    private let unsubscribeLinks: UnsubscribeLinks?
    private let publicURL: String?
    private let templates: MailTemplates
    private let suppressions: (any SuppressionList)?
    private let relayFailures: (any RelayFailureStore)?
    private let wallClock: @Sendable () -> Timestamp
    private let pool: NIOThreadPool
    private let limiter = RelayLimiter(threads: Self.threads)
    private let slots = ThreadSpecificVariable<SMTPSlot>()

    /// Creates a channel through `relay`; its threads are idle until they are needed.
    ///
    /// - Parameters:
    ///   - relay: the mail server that accepts the mails.
    ///   - sender: the default sender; an account has its own name and may have its own address
    ///     (``Branding/mailFrom``).
    ///   - branding: returns the shops, by account.
    ///   - unsubscribeLinks: the links to unsubscribe; `nil` if there is no public address.
    ///   - publicURL: the public address of the payer's pages; `nil` if there is none.
    ///   - templates: the templates and texts of mails.
    ///   - suppressions: the recipients that must not get mail; `nil` for none.
    ///   - relayFailures: records the relay's refusals; `nil` to discard them.
    ///   - timeout: the limit for an attempt; the lease of a delivery is longer.
    ///   - wallClock: determines the day on which a mailbox was refused.
    ///   - schedule: the waits between attempts.
    package init(
        relay: SMTPRelay,
        sender: MailSender,
        branding: @escaping @Sendable () -> [AccountID: Branding] = { [:] },
        unsubscribeLinks: UnsubscribeLinks? = nil,
        publicURL: String? = nil,
        templates: MailTemplates = .standard,
        suppressions: (any SuppressionList)? = nil,
        relayFailures: (any RelayFailureStore)? = nil,
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
        self.relayFailures = relayFailures
        self.timeout = timeout
        self.wallClock = wallClock
        self.schedule = schedule
        pool = NIOThreadPool(numberOfThreads: Self.threads)
        pool.start()
    }

    /// Keeps the threads until shutdown, then ends them.
    package func run() async {
        // Cancellation ends it, just like a graceful shutdown.
        try? await gracefulShutdown()
        await close()
    }

    /// Ends the threads; attempts that have not started fail.
    ///
    /// A thread that ends closes its connection, for which libcurl waits for the relay's reply to `QUIT`. A relay that
    /// does not answer is not waited for.
    package func close() async {
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        // Not a child task, because it cannot be cancelled. It ends with the last thread.
        Task { [pool] in
            // It fails only if it is already closed.
            try? await pool.shutdownGracefully()
            end.finish()
        }
        let timer = Task {
            // Cancelled when the threads have ended.
            try? await Task.sleep(for: Self.quitPatience)
            end.finish()
        }
        for await _ in ended {}
        timer.cancel()
    }

    package func supports(_ event: Event) -> Bool {
        PaymentMail(event) != nil || Incident(event) != nil
    }

    package func deliver(
        _ event: Event,
        to target: DeliveryTarget,
        attempt: Int
    ) async -> AttemptResult {
        // The reads below count, because the lease of the delivery must not end before the attempt.
        let limit = min(target.endpoint?.timeout ?? timeout, timeout)
        let end = NIODeadline.now() + .milliseconds(limit.ms)
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
            return await handOver(message, of: nil, until: end)
        }
        do {
            if let reason = try await suppressions?.reason(for: recipient, of: account) {
                return .skipped("the recipient is suppressed: \(reason.rawValue)")
            }
        } catch {
            return .failed("the suppression list cannot be read: \(error)", .local)
        }
        // The event was recorded by a release that still mailed such events.
        guard let mail = PaymentMail(event, of: target.snapshot, publicURL: publicURL)
        else {
            return .skipped("the event is not relevant to the payer")
        }
        let content = content(mail, of: account, unsubscribe: link(recipient, account, mail))
        let message = message(
            event,
            mail,
            content,
            to: recipient,
            endpoint: target.id(account: account)
        )
        var result = await handOver(message, of: account, until: end)
        result.digest = content.digest(to: recipient)
        return result
    }

    /// Returns the mail about an event for display to an operator.
    ///
    /// It omits the links that act for the payer.
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

    /// Sends a mail and records the relay's finding.
    ///
    /// `account` is `nil` for a mail to operators, which is never suppressed.
    private func handOver(
        _ message: MailMessage,
        of account: AccountID?,
        until end: NIODeadline
    ) async -> AttemptResult {
        let (result, finding) = await submit(message, until: end)
        // The result of the mail counts. A finding that cannot be stored now is stored with the next mail.
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
            try await relayFailures?.noteAcceptance(at: wallClock())
        case .missingMailbox:
            if let account { try await refused(recipient, account) }
        case .relayFailure(let answer):
            // The recipient is hidden from operators.
            let shown = Excerpt.text(answer.utf8, hiding: Redaction([recipient.description]))
            try await relayFailures?.noteRefusal(shown, at: wallClock())
        }
    }

    /// Suppresses a recipient whose mailbox was also missing on an earlier day.
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

    private func submit(
        _ message: MailMessage,
        until end: NIODeadline
    ) async -> (AttemptResult, SMTPReply.Finding) {
        guard await limiter.enter() else {
            return (.failed("the mail relay is too slow: no free slot to send", .local), .nothing)
        }
        defer { limiter.leave() }
        let abort = AbortFlag(deadline: end + AbortFlag.margin)
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

    /// Sends a mail on a thread of the pool.
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
                    // libcurl treats 0 as no limit.
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
    /// Returns the digest that identifies the mail.
    fileprivate func digest(to recipient: MailAddress) -> String {
        SentMessage.digest(of: text, subject: subject, to: recipient.description)
    }

    /// Returns the mail for display; `shown` is its text without links that act for the payer.
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

/// The links with which customers unsubscribe: the API's public address with signed tokens.
package struct UnsubscribeLinks: Sendable {
    private let base: String
    private let tokens: UnsubscribeTokens

    /// Creates links at `base`, the API's address without a trailing slash.
    package init(base: String, tokens: UnsubscribeTokens) {
        self.base = base
        self.tokens = tokens
    }

    /// Returns the link that stops an account's mails to a recipient.
    ///
    /// Its page has the shop's design and the mail's language.
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
