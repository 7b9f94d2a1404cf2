import JSONText
import Poller
import PollerIdentity
import PollerLocalization
import PollerPayments
import PollerWatches

/// The contents of a payment mail for an event: a payment and a next step, which ``PayerMessage`` puts into words.
struct PaymentMail: Hashable, Sendable {
    let payment: Payment
    let step: NextStep
    /// The announced debit, which is then the only subject of the mail; `nil` in other mails.
    let notice: MandateNotice?
    /// The page that shows the mandate of the debit.
    let mandateURL: String?
    /// The time of the poll.
    let time: Timestamp
    /// Whether the payment is in test mode.
    let isTest: Bool
    /// The customer's language, if known.
    let language: PayerLanguage?
    /// The shop's order ID.
    private let order: String?
    private let metadata: RawJSON?
    private let object: UpstreamObject
    private let kind: SourceKind

    /// Selects the mail for an event, or returns `nil` if the payer gets none.
    ///
    /// The mail for an event without a payment follows from its status (``MailOccasion``). Other events are mailed
    /// only if they are about the payment or the next step. The status events that accompany them would repeat the
    /// same message.
    ///
    /// `snapshot` is the current state of the watch, with the shop's metadata, and with the object if the event has
    /// none. `publicURL` is the public address for payers. The link to the form for a refund account is only in the
    /// payer's own mail, because its user decides where the money is sent.
    init?(_ event: Event, of snapshot: WatchSnapshot? = nil, publicURL: String? = nil) {
        let seen = UpstreamObject(event)
        guard let mailedState = Self.mailedState(event, seen) else { return nil }
        payment = mailedState.0
        if mailedState.1.asksForAccount, let publicURL, let secret = snapshot?.watch.clientSecret,
            let way = secret.way(to: event.key, at: publicURL)
        {
            step = .giveRefundAccount(url: way)
        } else {
            step = mailedState.1
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

    private static func mailedState(_ event: Event, _ seen: UpstreamObject) -> (Payment, NextStep)?
    {
        if event.mandate != nil { return (event.payment ?? Payment(state: .processing), .none) }
        guard let payment = event.payment, event.key.kind.isOfPayments || event.key.kind == .http
        else {
            return MailOccasion(event)?.payment(of: event, seen)
        }
        let isSetup = event.key.kind == .setupIntent
        if let refund = payment.refund, event.type == refund.status.eventType {
            return isMailed(refund, of: payment, event.nextStep) ? (payment, event.nextStep) : nil
        }
        // A dispute that the shop has won, or an inquiry that has ended, does not make it a new payment. The first
        // event of a payment has no object, because the event of its status follows.
        if event.type == PaymentState.paid.eventType, seen.isDisputed { return nil }
        // The returned sum was mailed before. Since then a dispute was won, or a refund has failed.
        let before = event.previousReturned
        if payment.state.wasPaid, before > 0, before >= payment.amountReturned { return nil }
        let needsMail =
            event.type == "next_step.changed"
            ? isAsked(payment, event.nextStep) && !isRepeated(event)
            : event.type == payment.state.eventType && isMailed(payment, event.nextStep, isSetup)
        // A refund that has not succeeded has its own mail.
        return needsMail ? (payment.withoutRefund, event.nextStep) : nil
    }

    /// Whether the payer gets a mail about a refund that has not succeeded.
    ///
    /// Only while the payment counts as paid, and not if the payer is asked for a bank account: that mail also explains
    /// the refund's state.
    private static func isMailed(
        _ refund: RefundProgress,
        of payment: Payment,
        _ step: NextStep
    ) -> Bool {
        payment.state.isPaid && !step.asksForAccount
    }

    /// Whether the payer gets a mail about the current payment state.
    ///
    /// If a refund needs an account, the payer gets the request for it instead.
    private static func isMailed(_ payment: Payment, _ step: NextStep, _ isSetup: Bool) -> Bool {
        if step.asksForAccount { return false }
        return switch payment.state {
        case .expired, .cancelled, .refunded: true
        // The payer's bank has returned a part after a dispute, which it tells the payer itself.
        case .partiallyRefunded: payment.reason != .disputeLost
        case .partiallyPaid: payment.reason != .windowClosing
        // A bank's inquiry is reported only to the shop, and the payer already has the mail about the payment. A
        // returned refund does not make it a new payment.
        case .paid: payment.reason != .inquiry && payment.refund == nil
        // A saved payment method gets a mail only if no payment was intended. The shop's deadline does not concern
        // its customer.
        case .authorised:
            payment.reason != .windowClosing && (payment.reason != .saved || isSetup)
        // A customer who cancelled at the bank knows it.
        case .failed: payment.reason != .customerAborted
        // The mail about the next step has the date of the debit.
        case .processing: !isAsked(payment, step)
        // `awaitingCustomer` is mailed with its next step. For the other states the shop contacts its customer
        // itself.
        case .awaitingCustomer, .disputed, .reversed, .unknown: false
        }
    }

    /// Whether the payer gets a mail about the next step.
    ///
    /// Only steps that can be done later and need no page of the shop are mailed. After a partial payment the mail
    /// about the payment has the missing amount.
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

    /// Whether the payer has already got this request; a failed attempt was reported on the page where it was made.
    ///
    /// A source requests microdeposits from its first poll, before which it has no status.
    private static func isRepeated(_ event: Event) -> Bool {
        guard case .verifyMicrodeposits(let deposits) = event.nextStep else { return false }
        return deposits.attemptsLeft != nil && event.status != nil
    }

    /// Returns the description of the purchase, as far as the shop has given it.
    func purchase(of shop: Branding?) -> Purchase {
        Purchase(order: order, metadata: metadata, object: object, branding: shop, kind: kind)
    }

    /// The colour and sign for the mail's state.
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
    /// Returns the payment implied by the status of an event without a payment.
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
            let wasChargeable = event.previousStatus == .chargeable
            (state, reason) = wasChargeable ? (.expired, .notChargedInTime) : (.cancelled, nil)
        case .saved: (state, reason) = (.authorised, .saved)
        case .expired:
            // The payer had not chosen a payment method, so no money can be on its way.
            let isUnpaid =
                event.progress == .none
                && ["requires_payment_method", "requires_confirmation"]
                    .contains(event.status?.description)
            if isUnpaid { (state, step) = (.awaitingCustomer, .chooseMethod) }
        case .stopped, .unknown, .update: break
        }
        return (object.payment(state, because: reason), step)
    }
}
