import Crypto
import JSONText
import Poller
import PollerIdentity
import PollerWords

/// How a payment stands, as the return page draws it: a colour, a sign, and whether more will come.
///
/// *Source*: shared wording of <https://docs.stripe.com/sources/best-practices>: a chargeable or
/// pending source means "received, awaiting payment", never "paid".
enum ReturnState: String, CaseIterable {
    /// The first seconds.
    case confirming
    /// Nothing final yet.
    case waiting
    /// The customer has something to do.
    case action
    /// The customer has done their part; the money is not taken yet.
    case authorised
    /// The bank carries it out and may still refuse it.
    case processing
    /// A charge or an intent has succeeded, or a source that settles at once is consumed.
    case confirmed
    case failed
    /// Time ran out, or it was given up.
    case expired
    /// The money, or part of it, went back.
    case refunded
    /// The payer's bank has asked for it back.
    case disputed
    /// The payer's bank has taken it back.
    case reversed
    /// We stopped looking without an answer.
    case unknown

    /// How a payment is drawn.
    init(_ payment: Payment, _ step: NextStep, isSetup: Bool, isFirst: Bool) {
        if step.asksForAccount {
            self = .action
            return
        }
        switch payment.state {
        case .awaitingCustomer:
            let isToDo =
                PayerMessage.asks(payment, step) && !(isFirst && PayerMessage.sendsAway(step))
            self = isToDo ? .action : isFirst ? .confirming : .waiting
        case .partiallyPaid: self = .action
        case .processing: self = .processing
        // Where no money is meant, a kept way to pay is all there was to come.
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

    /// Whether the page need not ask for more: what follows is told by mail.
    var isFinal: Bool {
        switch self {
        case .confirming, .waiting, .action, .authorised, .processing: false
        case .confirmed, .failed, .expired, .refunded, .disputed, .reversed, .unknown: true
        }
    }
}

/// What a customer who comes back is told: only what was really seen, in their language.
struct ReturnUpdate: Hashable {
    let state: ReturnState
    let payment: Payment
    let step: NextStep
    let said: PayerMessage
    /// Changes when the page shows other rows, links or codes, and so must be loaded anew.
    let view: String
    /// Whether the customer is to go on where they come from, if nothing has come after some seconds.
    let leadsOn: Bool
    /// What the customer fills in on the page itself.
    let form: PayerForm?
    /// Where they go back to, where that is another place than the shop's usual one.
    let returnLink: ShopReturnLink?

    /// What is told of a payment.
    ///
    /// `isFirst`: the customer has just come, so the bank may still be at work. `form`: what can be filled
    /// in here, as long as it is asked for.
    init(
        _ payment: Payment,
        _ step: NextStep,
        of purchase: Purchase,
        isFirst: Bool,
        form: PayerForm? = nil,
        in words: PayerWords
    ) {
        func message(isFirst: Bool) -> PayerMessage {
            PayerMessage(payment, step, of: purchase, for: .page, in: words, isFirst: isFirst)
        }
        (self.payment, self.step) = (payment, step)
        returnLink = purchase.returnLink
        state = ReturnState(payment, step, isSetup: purchase.isSetup, isFirst: isFirst)
        said = message(isFirst: isFirst)
        let later = isFirst ? message(isFirst: false) : said
        self.form = PayerMessage.asks(payment, step) ? form : nil
        let then = ReturnState(payment, step, isSetup: purchase.isSetup, isFirst: false)
        // In final states the link to the shop is a button.
        let shown =
            (then.isFinal ? ["final"] : []) + (self.form.map { ["\($0)"] } ?? [])
            + (later.facts + later.details).flatMap { [$0.label, $0.value] }
            + later.links.map(\.url)
        // No text has a line break in it, so none can be taken for two.
        let digest = SHA256.hash(data: Array(shown.joined(separator: "\n").utf8))
        view = Base64URL.encode(Array(digest.prefix(6)))
        leadsOn = state == .confirming && then == .action
    }

    /// What is told of a watch.
    ///
    /// `onward` is our address that leads on to the bank; `notice` what the upstream has just said to what
    /// the customer filled in.
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
        if let notice { (payment, step) = notice.applied(to: payment, step) }
        if case .followLink = step {
            // Without a way on that we know, there is nothing to do but to wait.
            step = ReturnLink(snapshot, path: onward)?.step ?? .none
        }
        // Without a form here it is the shop that asks.
        if step.asksForAccount { step = .giveRefundAccount(url: form == nil ? nil : onward) }
        let purchase = Purchase(
            order: snapshot.watch.order?.description,
            metadata: snapshot.metadata.isEmpty ? nil : RawJSON(snapshot.metadata),
            object: object,
            branding: shop,
            kind: snapshot.watch.key.kind
        )
        self.init(payment, step, of: purchase, isFirst: isFirst, form: form, in: words)
    }

    /// The payment of a watch and its step, by its last status where nothing better was recorded.
    private static func payment(
        of snapshot: WatchSnapshot,
        _ object: UpstreamObject
    ) -> (Payment, NextStep) {
        if let event = snapshot.lastEvent, let payment = event.payment {
            // Nobody looks any more, and what was seen last may have gone on.
            let isOver = snapshot.closed.map { $0 != .settled && $0 != .reached } ?? false
            guard isOver, payment.state.isOpen else { return (payment, event.nextStep) }
            return (payment.unknown, .none)
        }
        let (state, reason) = inherited(snapshot, object)
        let payment = Payment(
            state: state,
            amount: object.amount,
            amountReceived: state == .paid ? object.amount ?? .zero : .zero,
            currency: object.currency,
            method: object.method,
            reason: reason
        )
        return (payment, .none)
    }

    /// The state and reason that follow from the last status, where its event has no payment.
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
                // Charged by somebody else: what became of that, most methods tell only later.
                let isAtOnce = Settlement(of: snapshot.lastEvent) == .atOnce
                return (isAtOnce ? .paid : .processing, nil)
            }
        case (.setupIntent, "succeeded"): return (.authorised, .saved)
        case (_, "succeeded"): return (.paid, nil)
        case (_, "failed"): return (.failed, failure)
        case (_, "canceled"): return (.cancelled, nil)
        case (_, "requires_capture"): return (.authorised, nil)
        case (_, "requires_payment_method"):
            // Both "new" and "the last try failed", told apart by the error.
            return object.hasFailed ? (.failed, failure) : (.awaitingCustomer, nil)
        default: return (.awaitingCustomer, nil)
        }
    }
}

extension PaymentState {
    /// Whether something is still to come of it by itself.
    fileprivate var isOpen: Bool {
        switch self {
        case .awaitingCustomer, .processing, .authorised, .partiallyPaid: true
        case .paid, .failed, .expired, .cancelled, .refunded, .partiallyRefunded, .disputed,
            .reversed, .unknown:
            false
        }
    }
}

extension Payment {
    /// The same sums, of which nobody knows what became of them.
    fileprivate var unknown: Payment {
        Payment(
            state: .unknown,
            amount: amount,
            amountReceived: amountReceived,
            amountReturned: amountReturned,
            currency: currency,
            method: method,
            presentment: presentment
        )
    }
}
