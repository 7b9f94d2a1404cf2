import Poller
import PollerIdentity
import PollerLocalization
import PollerPayments
import PollerWatches

/// The message to a customer for an event without a payment, derived from its status.
///
/// Such events come from upstreams whose objects are not payments, or from watches that closed before a poll
/// succeeded.
///
/// ``confirmed`` must never be revoked. It requires a final fact: a charge or intent that has succeeded, or a
/// consumed source that settles immediately (``Settlement``).
enum MailOccasion: String, CaseIterable, Sendable {
    /// The customer has authorised the payment.
    case authorised
    /// The bank is processing the payment and may still decline it.
    case processing
    case confirmed
    case failed
    /// Authorised, but the bank has declined the charge.
    case uncharged
    case cancelled
    /// A payment method was saved; nothing was paid.
    case saved
    /// The watch expired.
    case expired
    /// The watch was cancelled.
    case stopped
    case unknown
    /// A close with any other status.
    case update

    /// Selects the message for an event, or returns `nil` if the customer gets no mail.
    ///
    /// It is used for events without a payment. It returns `nil` for `payment.*`, `refund.*`, `next_step.changed`,
    /// orders and incidents.
    ///
    /// While the watch is open, no mail is sent for `pending`, `requires_action`, `requires_confirmation`, `processing`
    /// and other statuses without a text. None is sent for a created charge either, only for its result. A change
    /// without a new status is mailed only if it is a declined attempt.
    init?(_ event: Event) {
        // An event about the payment or the next step accompanies a status event, which is mailed.
        if event.type.hasPrefix("payment.") || event.type.hasPrefix("refund.")
            || event.type == "next_step.changed"
        {
            return nil
        }
        // A payer gets mails about each payment. Events about the whole order go to the shop, and incidents go to
        // operators.
        if !event.key.kind.isOfWatches { return nil }
        if event.closed != nil, case .succeeded = event.progress {
            // A debit that was paid and then returned is neither confirmed nor failed.
            let isLost = ["failed", "canceled"].contains(event.status?.description)
            self = isLost ? .update : .confirmed
            return
        }
        switch event.type {
        case "watch.expired": self = .expired
        case "watch.cancelled": self = .stopped
        case "watch.gone", "watch.dead": self = .unknown
        case "charge.failed": self = .uncharged
        case "charge.pending": return nil
        case "charge.succeeded":
            // The charge consumes its source. The event about that is mailed.
            guard event.closed != nil else { return nil }
            self = .confirmed
        default:
            guard let occasion = Self.occasion(ofStatus: event) else { return nil }
            self = occasion
        }
    }

    private static func occasion(ofStatus event: Event) -> MailOccasion? {
        switch (event.key.kind, event.status?.description) {
        case (.source, "consumed"):
            return Settlement(of: event) == .atOnce ? .confirmed : .processing
        case (.setupIntent, "succeeded"): return .saved
        case (_, "succeeded"): return .confirmed
        case (_, "failed"): return .failed
        case (_, "canceled"): return .cancelled
        case (_, "chargeable"), (_, "requires_capture"):
            // A declined charge has already been mailed.
            let isStatusChange = event.status != event.previousStatus && event.progress != .failed
            return isStatusChange ? .authorised : nil
        // This status means "new" or "the last attempt failed". The error or the previous status distinguishes them.
        case (_, "requires_payment_method"):
            let before = event.previousStatus
            let hasFallenBack = before.map { $0 != event.status } ?? (event.closed != nil)
            return hasFallenBack || UpstreamObject(event).hasFailed ? .failed : nil
        default: return event.closed == nil ? nil : .update
        }
    }
}
