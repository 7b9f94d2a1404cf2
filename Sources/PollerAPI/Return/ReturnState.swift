import Crypto
import JSONText
import Poller
import PollerIdentity
import PollerLocalization
import PollerPayments
import PollerWatches

/// The state of a payment on the return page: its colour, its icon, and whether more updates follow.
///
/// *Source*: shared wording of <https://docs.stripe.com/sources/best-practices>: a chargeable or pending source means
/// "received, awaiting payment", never "paid".
enum ReturnState: String, CaseIterable {
    /// The first seconds after the return.
    case confirming
    /// No final state yet.
    case waiting
    /// The customer has an action left.
    case action
    /// The customer has approved the payment, and the money is not collected yet.
    case authorised
    /// The bank is processing the payment and may still reject it.
    case processing
    /// A charge or an intent has succeeded, or a source that settles at once is consumed.
    case confirmed
    case failed
    /// The time limit passed, or the payment was cancelled.
    case expired
    /// The money was returned, in full or in part.
    case refunded
    /// The payer's bank has disputed the payment.
    case disputed
    /// The payer's bank has reversed the payment.
    case reversed
    /// Polling ended without a result.
    case unknown

    init(_ payment: Payment, _ step: NextStep, isSetup: Bool, isFirst: Bool) {
        if step.asksForAccount {
            self = .action
            return
        }
        switch payment.state {
        case .awaitingCustomer:
            let isToDo =
                PayerMessage.needsPayerAction(payment, step)
                && !(isFirst && PayerMessage.leadsToOtherSite(step))
            self = isToDo ? .action : isFirst ? .confirming : .waiting
        case .partiallyPaid: self = .action
        case .processing: self = .processing
        // For a setup, a saved payment method is the final result.
        case .authorised: self = isSetup && payment.reason == .saved ? .confirmed : .authorised
        case .paid: self = .confirmed
        case .failed: self = .failed
        case .expired, .cancelled: self = .expired
        case .refunded, .partiallyRefunded: self = .refunded
        case .disputed: self = .disputed
        case .reversed: self = .reversed
        case .unknown: self = .unknown
        }
    }

    /// Whether the page can stop updating.
    ///
    /// Later changes are sent by email.
    var isFinal: Bool {
        switch self {
        case .confirming, .waiting, .action, .authorised, .processing: false
        case .confirmed, .failed, .expired, .refunded, .disputed, .reversed, .unknown: true
        }
    }
}

/// The content of the return page: only observed facts, in the customer's language.
struct ReturnUpdate: Hashable {
    let state: ReturnState
    let payment: Payment
    let step: NextStep
    let payerMessage: PayerMessage
    /// The message if nothing changes within some seconds.
    let laterMessage: PayerMessage
    /// A digest of the rows, links and codes.
    ///
    /// The page reloads when it changes.
    let view: String
    /// Whether the page is loaded again if nothing changes within some seconds, to lead the customer on to the bank.
    let isLoadedAgain: Bool
    /// Whether the customer may have tried again since the last poll, so that the last event is not shown.
    ///
    /// A poll that finds no change records no event, so the page asks for the same event again.
    let isOutdated: Bool
    /// The form on the page.
    let form: PayerForm?
    /// The shop's return link of this payment, if it differs from the usual one.
    let returnLink: ShopReturnLink?

    /// Creates the content for a payment.
    ///
    /// `isFirst`: the customer has just returned, so the bank may still be processing. `form`: the form of this page,
    /// shown as long as it is requested.
    init(
        _ payment: Payment,
        _ step: NextStep,
        of purchase: Purchase,
        isFirst: Bool,
        isOutdated: Bool = false,
        form: PayerForm? = nil,
        in words: PayerWords
    ) {
        func message(isFirst: Bool) -> PayerMessage {
            PayerMessage(payment, step, of: purchase, for: .page, in: words, isFirst: isFirst)
        }
        (self.payment, self.step) = (payment, step)
        returnLink = purchase.returnLink
        state = ReturnState(payment, step, isSetup: purchase.isSetup, isFirst: isFirst)
        payerMessage = message(isFirst: isFirst)
        laterMessage = isFirst ? message(isFirst: false) : payerMessage
        self.form = PayerMessage.needsPayerAction(payment, step) ? form : nil
        let then = ReturnState(payment, step, isSetup: purchase.isSetup, isFirst: false)
        // In final states the link to the shop is a button.
        let shown =
            (then.isFinal ? ["final"] : []) + (self.form.map { ["\($0)"] } ?? [])
            + (laterMessage.facts + laterMessage.details).flatMap { [$0.label, $0.value] }
            + laterMessage.links.map(\.url)
        // No text contains a line break, so the joined text is unambiguous.
        let digest = SHA256.hash(data: Array(shown.joined(separator: "\n").utf8))
        view = Base64URL.encode(Array(digest.prefix(6)))
        isLoadedAgain = state == .confirming && then == .action
        self.isOutdated = isOutdated
    }

    /// Creates the content for a watch.
    ///
    /// `onward` is this server's path to the bank. `notice` is the upstream's response to a form.
    init(
        _ snapshot: WatchSnapshot,
        isFirst: Bool,
        shop: Branding? = nil,
        onward: String = "",
        form: PayerForm? = nil,
        after notice: PayerNotice? = nil,
        in words: PayerWords
    ) {
        let object = UpstreamObject(snapshot.lastEvent)
        var (payment, step) = Self.payment(of: snapshot, object)
        let isOutdated =
            snapshot.isOlderThanReturn && (payment.state == .failed || payment.state == .expired)
        // A failure of the earlier attempt says nothing about this one, which may have been paid.
        if isOutdated { (payment, step) = (payment.restated(.awaitingCustomer), .none) }
        if let notice { (payment, step) = notice.applied(to: payment, step) }
        if case .followLink = step {
            // Without a known link, the customer can only wait.
            step = ReturnLink(snapshot, path: onward)?.step ?? .none
        }
        // Without a form here, the shop asks for the account.
        if step.asksForAccount { step = .giveRefundAccount(url: form == nil ? nil : onward) }
        let purchase = Purchase(
            order: snapshot.watch.order?.description,
            metadata: snapshot.metadata.isEmpty ? nil : RawJSON(snapshot.metadata),
            object: object,
            branding: shop,
            kind: snapshot.watch.key.kind
        )
        self.init(
            payment,
            step,
            of: purchase,
            isFirst: isFirst,
            isOutdated: isOutdated,
            form: form,
            in: words
        )
    }

    /// Returns the payment and the step of a watch, derived from its last status if no payment was recorded.
    private static func payment(
        of snapshot: WatchSnapshot,
        _ object: UpstreamObject
    ) -> (Payment, NextStep) {
        if let event = snapshot.lastEvent, let payment = event.payment {
            // The watch is no longer polled, and the last observed state may have changed.
            let isOver = snapshot.closed.map { $0 != .settled && $0 != .reached } ?? false
            guard isOver, payment.state.isOpen else { return (payment, event.nextStep) }
            return (payment.restated(.unknown), .none)
        }
        let (state, reason) = inherited(snapshot, object)
        return (object.payment(state, because: reason), .none)
    }

    /// Returns the state and reason derived from the last status, for an event without a payment.
    private static func inherited(
        _ snapshot: WatchSnapshot,
        _ object: UpstreamObject
    ) -> (PaymentState, PaymentReason?) {
        let watch = snapshot.watch
        let status = watch.state.status?.description
        let isPaid = if case .succeeded = watch.state.charge { true } else { false }
        if let closed = snapshot.closed, closed != .settled, closed != .reached, !isPaid {
            return (.unknown, nil)
        }
        let failure = object.failure.map { PaymentReason(code: $0) }
        switch (watch.key.kind, status) {
        case (.source, "chargeable"), (.source, "consumed"):
            switch watch.state.charge {
            case .failed: return (.failed, nil)
            case .succeeded: return (.paid, nil)
            case .pending: return (.processing, nil)
            case .none, .doubtful:
                guard status == "consumed" else { return (.authorised, nil) }
                // Charged elsewhere. Most methods settle only later.
                let isAtOnce = Settlement(of: snapshot.lastEvent) == .atOnce
                return (isAtOnce ? .paid : .processing, nil)
            }
        case (.setupIntent, "succeeded"): return (.authorised, .saved)
        case (_, "succeeded"): return (.paid, nil)
        case (_, "failed"): return (.failed, failure)
        case (_, "canceled"): return (.cancelled, nil)
        case (_, "requires_capture"): return (.authorised, nil)
        case (_, "requires_payment_method"):
            // Either a new intent or one whose last attempt failed. The error distinguishes them.
            return object.hasFailed ? (.failed, failure) : (.awaitingCustomer, nil)
        default: return (.awaitingCustomer, nil)
        }
    }
}

extension PaymentState {
    /// Whether the state may still change without an action of the shop.
    fileprivate var isOpen: Bool {
        switch self {
        case .awaitingCustomer, .processing, .authorised, .partiallyPaid: true
        case .paid, .failed, .expired, .cancelled, .refunded, .partiallyRefunded, .disputed,
            .reversed, .unknown:
            false
        }
    }
}

extension WatchSnapshot {
    /// Whether no answered poll of an unpaid intent is known since a hint such as the customer's return.
    ///
    /// The customer may have tried again since, and the next poll is due.
    var isOlderThanReturn: Bool {
        guard closed == nil, watch.state.status?.awaitsPayer == true,
            let polledAt = watch.state.lastPolledAt, let hintedAt = watch.hintedAt,
            // A poll since the hint has recorded the event, whatever the result of later polls.
            lastEvent.map({ $0.polledAt < hintedAt }) ?? true
        else { return false }
        return polledAt < hintedAt || lastError != nil
    }
}

extension Payment {
    /// Returns a payment with the same amounts and another state.
    fileprivate func restated(_ state: PaymentState) -> Payment {
        Payment(
            state: state,
            amount: amount,
            amountReceived: amountReceived,
            amountReturned: amountReturned,
            currency: currency,
            method: method,
            presentment: presentment
        )
    }
}
