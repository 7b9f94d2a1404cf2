import Poller
import PollerIdentity
import PollerWords

/// The message to a customer for an event without a payment, by its status.
///
/// Such events are of upstreams whose objects are no payments, or of watches that ended before a poll had an answer.
///
/// ``confirmed`` is the one word that must never be taken back. It needs what nobody takes back: a
/// charge or an intent that has succeeded, or a source that is consumed and settles at once
/// (``Settlement``).
enum MailOccasion: String, CaseIterable, Sendable {
    /// The customer has done their part.
    case authorised
    /// The bank carries it out and may still refuse it.
    case processing
    case confirmed
    case failed
    /// Authorised, but the bank has refused the charge.
    case uncharged
    case cancelled
    /// A way to pay is kept for later; nothing was paid.
    case saved
    /// The watch expired.
    case expired
    /// Somebody cancelled the watch.
    case stopped
    case unknown
    /// A final status we have no words for.
    case update

    /// What an event is told as; nil for one a customer can do nothing about.
    ///
    /// Not told are `pending`, `requires_action`, `requires_confirmation`, `processing` and
    /// statuses we have no words for, that a charge was made (its end is), and what changes beside
    /// a status that stays, unless it is a try that was declined.
    init?(_ event: Event) {
        // What is told of the money and of the next step comes beside the status, which is mailed.
        if event.type.hasPrefix("payment.") || event.type.hasPrefix("refund.")
            || event.type == "next_step.changed"
        {
            return nil
        }
        // A payer is told of each payment; of the order as a whole the shop is, and of incidents operators.
        if !event.key.kind.isOfWatches { return nil }
        if event.closed != nil, case .succeeded = event.progress {
            // A debit that was paid and came back is neither of the words we have.
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
            // That it has consumed its source follows, and then it is told.
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
            // A refused charge was told as such.
            let isNews = event.status != event.previousStatus && event.progress != .failed
            return isNews ? .authorised : nil
        // Both "new" and "the last try failed", told apart by the error, or by what came before.
        case (_, "requires_payment_method"):
            let before = event.previousStatus
            let hasFallenBack = before.map { $0 != event.status } ?? (event.closed != nil)
            return hasFallenBack || UpstreamObject(event).hasFailed ? .failed : nil
        default: return event.closed == nil ? nil : .update
        }
    }
}
