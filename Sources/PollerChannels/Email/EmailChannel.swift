import NIOCore
import NIOPosix
package import Poller
import ServiceLifecycle

/// Tells a customer by mail, handed to a relay over SMTP.
///
/// *Who is told what*: every final event; before that `chargeable` and `requires_capture`
/// (authorised), and `requires_payment_method` once a try has failed. Not `pending`,
/// `requires_action`, `requires_confirmation`, `processing` and statuses we have no words for:
/// they tell a customer nothing they can act on.
/// *Limits*: 30 s an attempt, waiting for a free thread included; 10 s to connect.
/// *At least once*: a relay whose answer to the message is lost may get it again, with the same
/// `Message-ID`.
///
/// Run it as a service listed before the notifier, so that its threads end after it.
package struct EmailChannel: DeliveryChannel, Service {
    /// libcurl blocks; a relay takes tens of milliseconds a mail, so eight keep 100 a second going.
    private static let threads = 8
    /// An attempt that starts with less has no fair chance.
    private static let attemptMsMin: Int64 = 2000

    package let schemes: Set<String> = ["mailto"]
    package let timeout = Duration.seconds(30)
    package let schedule: RetrySchedule

    private let relay: SMTPRelay
    private let sender: MailSender
    private let pool: NIOThreadPool
    private let slots = ThreadSpecificVariable<SMTPSlot>()

    /// A channel through `relay`; its threads wait until they are needed.
    package init(relay: SMTPRelay, sender: MailSender, schedule: RetrySchedule = .email) {
        self.relay = relay
        self.sender = sender
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
        switch event.status?.description {
        case _ where event.closed != nil: true
        case "chargeable", "requires_capture": true
        case "requires_payment_method": event.previousStatus != nil
        default: false
        }
    }

    package func deliver(_ event: Event, to url: NotifyURL, attempt: Int) async -> AttemptResult {
        let recipient: MailAddress
        do throws(InvalidInput) {
            recipient = try MailAddress(url)
        } catch {
            return .rejected("the mail address \(error.message)")
        }
        let message = MailMessage(
            event,
            to: recipient,
            from: sender,
            endpoint: EndpointID(account: event.key.account, url: url.description)
        )
        let end = NIODeadline.now() + .milliseconds(timeout.ms)
        let abort = AbortFlag()
        do {
            return try await withTaskCancellationHandler {
                try await pool.runIfActive { send(message, until: end, abort: abort) }
            } onCancel: {
                abort.raise()
            }
        } catch {
            return .failed("mail not sent: the process is shutting down", after: nil)
        }
    }

    /// Runs on one of our threads.
    private func send(
        _ message: MailMessage,
        until end: NIODeadline,
        abort: AbortFlag
    ) -> AttemptResult {
        let left = (end - .now()).nanoseconds / 1_000_000
        guard left >= Self.attemptMsMin else {
            return .failed("the mail relay is too slow: no turn within \(timeout.text)", after: nil)
        }
        let slot = slots.currentValue ?? SMTPSlot()
        slots.currentValue = slot
        let reply = slot.withSession { session in
            session.send(
                message,
                from: sender.address,
                through: relay,
                timeoutMs: Int(left),
                abort: abort
            )
        }
        return reply?.result ?? .failed("libcurl cannot start", after: nil)
    }
}
