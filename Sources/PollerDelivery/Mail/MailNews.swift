import JSONText
import Poller
import PollerWords

/// What a mail tells a payer of an event: a payment and a step, in words that ``PayerNews`` finds.
struct MailNews: Hashable, Sendable {
    let payment: Payment
    let step: NextStep
    /// When it was seen.
    let time: Timestamp
    /// Whether no real money is meant.
    let isTest: Bool
    /// The customer's, where somebody has said it.
    let language: PayerLanguage?
    private let metadata: RawJSON?
    private let object: SeenObject
    private let kind: SourceKind

    /// What an event is told as; nil for one that a payer is not written about.
    ///
    /// An event without a payment, of an older release or of an upstream that has none, is told by its
    /// status (``MailOccasion``).
    ///
    /// `snapshot` is the watch as it is now, which has what the shop has said of it, and the object where
    /// the event has none.
    init?(_ event: Event, of snapshot: WatchSnapshot? = nil) {
        let seen = SeenObject(event)
        guard let told = MailOccasion(event)?.payment(of: event, seen) else { return nil }
        (payment, step) = told
        object = seen.hasObject ? seen : SeenObject(snapshot?.lastEvent)
        metadata = snapshot.flatMap { $0.metadata.isEmpty ? nil : RawJSON($0.metadata) }
        kind = event.key.kind
        time = event.polledAt
        isTest = object.isLive == false
        language = Purchase.language(metadata: metadata, object: object)
    }

    /// What is paid, as far as the shop has said.
    func purchase(of shop: String?) -> Purchase {
        Purchase(metadata: metadata, object: object, shop: shop, kind: kind)
    }

    /// How the news looks at the first glance.
    var tone: Tone {
        switch payment.state {
        case .paid, .authorised: Tone(colour: "#1a7f4b", mark: "✓")
        case .failed, .reversed: Tone(colour: "#c5221f", mark: "✕")
        case .awaitingCustomer, .partiallyPaid: Tone(colour: "#2f6db3", mark: "→")
        case .expired, .disputed: Tone(colour: "#9a6700", mark: "!")
        case .unknown: Tone(colour: "#9a6700", mark: "?")
        case .processing: Tone(colour: "#57606a", mark: "…")
        case .cancelled: Tone(colour: "#57606a", mark: "–")
        case .refunded, .partiallyRefunded: Tone(colour: "#57606a", mark: "↩")
        }
    }

    /// A colour and a sign.
    struct Tone: Hashable, Sendable {
        let colour: String
        let mark: String
    }
}

extension MailOccasion {
    /// The payment that an event without one tells of, as far as its status says.
    func payment(of event: Event, _ object: SeenObject) -> (Payment, NextStep) {
        var state = PaymentState.unknown
        var reason: PaymentReason?
        var step = NextStep.none
        switch self {
        case .authorised: state = .authorised
        case .processing: state = .processing
        case .confirmed: state = .paid
        case .failed:
            state = .failed
            reason = object.failure.map { PaymentReason(code: $0) }
        case .uncharged: state = .failed
        case .cancelled:
            let hadAgreed = event.previousStatus == .chargeable
            (state, reason) = hadAgreed ? (.expired, .notChargedInTime) : (.cancelled, nil)
        case .saved: (state, reason) = (.authorised, .saved)
        case .expired:
            // The payer was still to choose how to pay: no money can be on its way.
            let isUnpaid =
                event.progress == .none
                && ["requires_payment_method", "requires_confirmation"]
                    .contains(event.status?.description)
            if isUnpaid { (state, step) = (.awaitingCustomer, .chooseMethod) }
        case .stopped, .unknown, .update: break
        }
        let payment = Payment(
            state: state,
            amount: object.amount,
            amountReceived: state == .paid ? object.amount ?? 0 : 0,
            currency: object.currency,
            method: object.method,
            reason: reason
        )
        return (payment, step)
    }
}
