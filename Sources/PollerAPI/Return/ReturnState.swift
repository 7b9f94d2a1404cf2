import JSONText
import Poller

/// What a customer who comes back is told: only what was really seen.
///
/// *Source*: shared wording of <https://docs.stripe.com/sources/best-practices>: a chargeable or
/// pending source means "received, awaiting payment", never "paid".
enum ReturnState: String, CaseIterable {
    /// The first seconds.
    case confirming
    /// Nothing final yet.
    case waiting
    /// The customer has done their part; the money is not taken yet.
    case authorised
    /// The bank carries it out and may still refuse it.
    case processing
    /// A charge or an intent has succeeded, or a source that settles at once is consumed.
    case confirmed
    case failed
    /// Time ran out, or it was given up.
    case expired
    /// We stopped looking without an answer.
    case unknown

    /// Whether nothing more will change.
    var isFinal: Bool {
        switch self {
        case .confirming, .waiting, .authorised, .processing: false
        case .confirmed, .failed, .expired, .unknown: true
        }
    }
}

/// A state with the words for it.
struct ReturnNews: Hashable {
    let state: ReturnState
    let title: String
    let text: String

    /// What is told of a watch.
    ///
    /// `isFirst`: the customer has just come, so the bank may still be at work.
    init(_ snapshot: WatchSnapshot, isFirst: Bool) {
        let seen = Self.seen(snapshot)
        let state = seen == .waiting && isFirst ? ReturnState.confirming : seen
        self.state = state
        (title, text) = Self.words(state, snapshot)
    }

    /// What is told when it takes longer.
    static let late = (
        title: "Order received",
        text: "We are waiting for your bank to confirm the payment. You can close this page: "
            + "the shop will tell you."
    )

    private static func seen(_ snapshot: WatchSnapshot) -> ReturnState {
        let watch = snapshot.watch
        let status = watch.state.status?.description
        let isPaid = if case .succeeded = watch.state.charge { true } else { false }
        if let closed = snapshot.closed, closed != .settled, closed != .reached, !isPaid {
            return .unknown
        }
        switch (watch.key.kind, status) {
        case (.source, "chargeable"), (.source, "consumed"):
            switch watch.state.charge {
            case .failed: return .failed
            case .succeeded: return .confirmed
            case .pending: return .processing
            case .none, .doubtful:
                guard status == "consumed" else { return .authorised }
                // Charged by somebody else: what became of that, most methods tell only later.
                return Settlement(of: snapshot.lastEvent) == .atOnce ? .confirmed : .processing
            }
        case (_, "succeeded"): return .confirmed
        case (_, "failed"): return .failed
        case (_, "canceled"): return .expired
        case (_, "requires_capture"): return .authorised
        case (_, "requires_payment_method"):
            // Both "new" and "the last try failed", told apart by the error.
            return hasError(snapshot) ? .failed : .waiting
        default: return .waiting
        }
    }

    private static func words(
        _ state: ReturnState,
        _ snapshot: WatchSnapshot
    ) -> (String, String) {
        if snapshot.watch.key.kind == .setupIntent, let words = wordsOfSetup(state) { return words }
        switch state {
        case .confirming:
            return ("Confirming your payment", "One moment: we are asking your bank.")
        case .waiting: return (late.title, late.text)
        case .authorised:
            return (
                "Payment authorised",
                "Thank you. Your bank has agreed; the shop takes the payment now."
            )
        case .processing:
            return (
                "Payment being processed",
                "Thank you. Your bank is carrying out this payment, which can take some days. Do "
                    + "not pay again: the shop will tell you what became of it."
            )
        case .confirmed:
            return ("Payment confirmed", "Thank you. The payment has arrived.")
        case .failed: return ("Payment failed", reason(snapshot))
        case .expired:
            return (
                "Payment cancelled",
                "Time ran out or it was cancelled. Nothing was charged; money that had left your "
                    + "account comes back."
            )
        case .unknown:
            return (
                "Payment not confirmed yet",
                "We do not know yet what became of it. Do not pay again: the shop will tell you."
            )
        }
    }

    /// Where no money is meant, other words; nil where they are the same.
    private static func wordsOfSetup(_ state: ReturnState) -> (String, String)? {
        switch state {
        case .confirming: ("Confirming your payment method", "One moment: we are asking your bank.")
        case .confirmed: ("Payment method saved", "Thank you. Nothing was charged.")
        case .failed:
            (
                "Payment method not saved",
                "Your bank did not agree, and nothing was charged. You can try again at the shop."
            )
        case .expired:
            (
                "Payment method not saved",
                "Time ran out or it was cancelled. Nothing was charged."
            )
        case .waiting, .authorised, .processing, .unknown: nil
        }
    }

    private static func reason(_ snapshot: WatchSnapshot) -> String {
        let again = "You can try again at the shop, with this method or another."
        switch object(snapshot)?.member("redirect")?.member("failure_reason")?.description {
        case "\"user_abort\"": return "You cancelled it at your bank. No money was taken. " + again
        case "\"declined\"": return "Your bank declined it. No money was taken. " + again
        case "\"processing_error\"":
            return "Your bank could not process it. No money was taken. " + again
        default: return "The payment did not go through. " + again
        }
    }

    private static func hasError(_ snapshot: WatchSnapshot) -> Bool {
        ["last_payment_error", "last_setup_error"].contains { name in
            object(snapshot)?.member(name).map { $0.description != "null" } ?? false
        }
    }

    /// The last object seen.
    private static func object(_ snapshot: WatchSnapshot) -> RawJSON? {
        snapshot.lastEvent.flatMap { RawJSON(unchecked: $0.json).member("object") }
    }

    /// Whether real money is meant; nil while no object has been seen.
    static func isLive(_ snapshot: WatchSnapshot) -> Bool? {
        object(snapshot)?.member("livemode").flatMap { Bool($0.description) }
    }
}
