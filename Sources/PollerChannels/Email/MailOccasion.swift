import Poller

/// What a mail tells a customer, each with templates of its own: `<name>.txt` and `<name>.html`.
enum MailOccasion: String, CaseIterable, Sendable {
    /// The customer has done their part.
    case authorised
    case confirmed
    case failed
    /// Authorised, but the bank has refused the charge.
    case uncharged
    case cancelled
    /// We waited in vain.
    case expired
    /// Somebody told us to wait no longer.
    case stopped
    case unknown
    /// A final status we have no words for.
    case update

    /// What an event is told as; nil for one a customer can do nothing about.
    ///
    /// Not told are `pending`, `requires_action`, `requires_confirmation`, `processing` and
    /// statuses we have no words for, and that a charge was made: its end is.
    init?(_ event: Event) {
        switch (event.type, event.status?.description) {
        case ("watch.expired", _): self = .expired
        case ("watch.cancelled", _): self = .stopped
        case ("watch.gone", _), ("watch.dead", _): self = .unknown
        case ("charge.failed", _): self = .uncharged
        case ("charge.succeeded", _) where event.closed != nil: self = .confirmed
        case ("charge.succeeded", _), ("charge.pending", _): return nil
        case (_, "consumed"), (_, "succeeded"): self = .confirmed
        case (_, "failed"): self = .failed
        case (_, "canceled"): self = .cancelled
        case (_, "chargeable"), (_, "requires_capture"): self = .authorised
        // Both "new" and "the last try failed", told apart by what came before.
        case (_, "requires_payment_method"):
            guard event.previousStatus != nil || event.closed != nil else { return nil }
            self = .failed
        default:
            guard event.closed != nil else { return nil }
            self = .update
        }
    }
}
