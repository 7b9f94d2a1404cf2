import JSONText
import Poller
import PollerIdentity
import PollerWords

/// What a mail tells a payer of an event: a payment and a step, in words that ``PayerMessage`` finds.
struct PaymentMail: Hashable, Sendable {
    let payment: Payment
    let step: NextStep
    /// The debit that is announced, and nothing else; nil in other mails.
    let notice: MandateNotice?
    /// A page that shows what allows it.
    let mandateURL: String?
    /// When it was seen.
    let time: Timestamp
    /// Whether no real money is meant.
    let isTest: Bool
    /// The customer's, where somebody has said it.
    let language: PayerLanguage?
    /// What the shop calls that which is paid.
    private let order: String?
    private let metadata: RawJSON?
    private let object: UpstreamObject
    private let kind: SourceKind

    /// What an event is told as; nil for one that a payer is not written about.
    ///
    /// The mail for an event without a payment follows from its status (``MailOccasion``). Of the others only those count that tell of the payment or the step:
    /// what is told of the status beside them would be the same news again.
    ///
    /// `snapshot` is the watch as it is now, which has what the shop has said of it, and the object where
    /// the event has none. `publicURL` is where payers reach us: an address that leads to the form for an
    /// account stands in the payer's own mail alone, for whoever follows it says where money goes.
    init?(_ event: Event, of snapshot: WatchSnapshot? = nil, publicURL: String? = nil) {
        let seen = UpstreamObject(event)
        guard let told = Self.told(event, seen) else { return nil }
        payment = told.0
        if told.1.asksForAccount, let publicURL, let secret = snapshot?.watch.clientSecret,
            let way = secret.way(to: event.key, at: publicURL)
        {
            step = .giveRefundAccount(url: way)
        } else {
            step = told.1
        }
        notice = event.mandate
        mandateURL = snapshot.flatMap { Mandate($0)?.url }
        object = seen.hasObject ? seen : UpstreamObject(snapshot?.lastEvent)
        metadata = snapshot.flatMap { $0.metadata.isEmpty ? nil : RawJSON($0.metadata) }
        kind = event.key.kind
        order = event.order?.description
        time = event.polledAt
        isTest = (seen.isLive ?? object.isLive) == false
        language = Purchase.language(metadata: metadata, object: object)
    }

    private static func told(_ event: Event, _ seen: UpstreamObject) -> (Payment, NextStep)? {
        if event.mandate != nil { return (event.payment ?? Payment(state: .processing), .none) }
        guard let payment = event.payment, event.key.kind.isOfPayments || event.key.kind == .http
        else {
            return MailOccasion(event)?.payment(of: event, seen)
        }
        let isSetup = event.key.kind == .setupIntent
        if let refund = payment.refund, event.type == refund.status.eventType {
            return isTold(refund, of: payment, event.nextStep) ? (payment, event.nextStep) : nil
        }
        let isNews =
            event.type == "next_step.changed"
            ? isAsked(payment, event.nextStep) && !isRepeated(event)
            : event.type == payment.state.eventType && isTold(payment, event.nextStep, isSetup)
        // A refund that has not succeeded has a mail of its own.
        return isNews ? (payment.withoutRefund, event.nextStep) : nil
    }

    /// Whether a payer is written to about a refund that has not succeeded.
    ///
    /// Where an account is asked for, that mail says what the refund waits for.
    private static func isTold(
        _ refund: RefundProgress,
        of payment: Payment,
        _ step: NextStep
    ) -> Bool {
        payment.state.isPaid && !step.asksForAccount
    }

    /// Whether a payer is written to because this is the payment's word now.
    ///
    /// Where money has to go back to an account that nobody knows, that is what they are written.
    private static func isTold(_ payment: Payment, _ step: NextStep, _ isSetup: Bool) -> Bool {
        if step.asksForAccount { return false }
        return switch payment.state {
        case .expired, .cancelled, .refunded, .partiallyRefunded: true
        case .partiallyPaid: payment.reason != .windowClosing
        // That a bank has asked a question was told to the shop; the payer has been told of the money.
        // That a refund came back does not make it a payment again.
        case .paid: payment.reason != .inquiry && payment.refund == nil
        // A way to pay that is kept is news of its own only where nothing else was to come.
        // That the shop must hurry is nothing to its customer.
        case .authorised:
            payment.reason != .windowClosing && (payment.reason != .saved || isSetup)
        // Who went back at the bank knows it.
        case .failed: payment.reason != .customerAborted
        // When the bank debits is told with the step.
        case .processing: !isAsked(payment, step)
        // The first is told by its step; of the others the shop speaks with its customer itself.
        case .awaitingCustomer, .disputed, .reversed, .unknown: false
        }
    }

    /// Whether a payer is written to because of what they are to do: what needs no page of the shop's,
    /// and can be done later.
    ///
    /// What is missing after a part has arrived is told with the payment.
    private static func isAsked(_ payment: Payment, _ step: NextStep) -> Bool {
        if step.asksForAccount { return true }
        guard payment.state == .awaitingCustomer || payment.state == .processing else {
            return false
        }
        return switch step {
        case .transfer, .payVoucher: payment.state == .awaitingCustomer
        case .verifyMicrodeposits: payment.state == .awaitingCustomer
        case .awaitDebit: true
        case .none, .followLink, .scanCode, .approveInApp, .enterCode, .giveRefundAccount,
            .returnToShop, .chooseMethod:
            false
        }
    }

    /// Whether the payer has been asked for the same before: of a try that was wrong they were told when
    /// they made it.
    ///
    /// Deposits of a source are asked for from its first look on, before which it has no status.
    private static func isRepeated(_ event: Event) -> Bool {
        guard case .verifyMicrodeposits(let deposits) = event.nextStep else { return false }
        return deposits.attemptsLeft != nil && event.status != nil
    }

    /// What is paid, as far as the shop has said.
    func purchase(of shop: Branding?) -> Purchase {
        Purchase(order: order, metadata: metadata, object: object, branding: shop, kind: kind)
    }

    /// How the news looks at the first glance.
    var tone: Tone {
        if notice != nil { return Tone(colour: "#57606a", mark: "…") }
        return word
    }

    private var word: Tone {
        switch payment.refund?.status {
        case .pending: return Tone(colour: "#57606a", mark: "…")
        case .requiresAction, .failed, .canceled: return Tone(colour: "#9a6700", mark: "!")
        case nil: break
        }
        return switch payment.state {
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
    func payment(of event: Event, _ object: UpstreamObject) -> (Payment, NextStep) {
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
            amountReceived: state == .paid ? object.amount ?? .zero : .zero,
            currency: object.currency,
            method: object.method,
            reason: reason
        )
        return (payment, step)
    }
}
