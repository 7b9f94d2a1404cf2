import Poller

/// What a mail says about an event, in words a customer understands.
struct MailWording: Hashable, Sendable {
    let subject: String
    let headline: String
    let sentence: String

    /// Finds the words; unknown final statuses are told by their own name.
    init(_ event: Event) {
        let source = event.key.source
        switch (event.type, event.status?.description) {
        case ("watch.expired", _):
            headline = "Payment not completed"
            sentence = "We waited for this payment, but it was not completed in time."
        case ("watch.cancelled", _):
            headline = "Payment no longer awaited"
            sentence = "We have stopped waiting for this payment."
        case ("watch.gone", _), ("watch.dead", _):
            headline = "Payment status unknown"
            sentence = "We could not find out what became of this payment. Please contact us."
        case (_, "chargeable"), (_, "requires_capture"):
            headline = "Payment authorised"
            sentence = "You have authorised this payment. It will be charged next."
        case (_, "consumed"), (_, "succeeded"):
            headline = "Payment confirmed"
            sentence = "We have received this payment. Thank you."
        case (_, "failed"), (_, "requires_payment_method"):
            headline = "Payment failed"
            sentence = "This payment did not go through. You can try again."
        case (_, "canceled"):
            headline = "Payment cancelled"
            sentence = "This payment was cancelled. Nothing was charged."
        case (_, let status):
            headline = "Payment update"
            sentence = "The status of this payment is now \(status ?? "unknown")."
        }
        subject = "\(headline) (\(source))"
    }
}
