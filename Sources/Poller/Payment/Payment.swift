package import PollerIdentity

/// What is true of a payment: one word for the payer, and the sums behind it.
///
/// *Problem*: the status of an upstream's object follows the object. A source is `consumed` while its
/// bank may still refuse, an intent stays `succeeded` when all of it was refunded, and a customer who
/// has done everything sees `pending`. Whoever speaks from the status says what is not so.
/// *Approach*: the word is a pure, total function of what was seen (``PaymentFacts``), and each channel
/// speaks from it alone. Money comes first: a charge that was seen decides, now or once before; the
/// object's status decides while there is none (``init(_:)``). What is remembered between two looks is
/// that evidence and not the word (``PaymentMemory``), so the word can always be found anew.
/// *What takes back `paid`*: a refund, a dispute, or the bank; nothing else, however the object goes on.
///
/// *Shape* (what is not known is left out):
/// ```
/// {"state":"paid","amount":1099,"amount_received":1099,"currency":"eur","method":"ideal",
///  "paid_at":"2026-11-20T09:30:00.125Z"}
/// ```
/// *Units*: amounts in the currency's smallest unit.
package struct Payment: Hashable, Sendable {
    /// The word.
    package let state: PaymentState
    /// What was to be paid; nil when the object names no sum.
    package let amount: Amount?
    /// What has arrived, also when it has gone back since.
    package let amountReceived: Amount
    /// What has gone back of it.
    package let amountReturned: Amount
    /// Three letters, lower case.
    package let currency: String?
    /// How it is paid; nil while nobody has chosen.
    package let method: PaymentMethod?
    /// When it was paid, as far as that was seen; only once money has arrived.
    package let paidAt: Timestamp?
    /// Why it is so, where the word alone leaves that open.
    package let reason: PaymentReason?
    /// A refund that has not succeeded; not part of ``amountReturned``.
    package let refund: RefundProgress?
    /// What the customer was shown, where that was another currency.
    package let presentment: Presentment?

    /// Puts a payment together.
    package init(
        state: PaymentState,
        amount: Amount? = nil,
        amountReceived: Amount = .zero,
        amountReturned: Amount = .zero,
        currency: String? = nil,
        method: PaymentMethod? = nil,
        paidAt: Timestamp? = nil,
        reason: PaymentReason? = nil,
        refund: RefundProgress? = nil,
        presentment: Presentment? = nil
    ) {
        self.state = state
        self.amount = amount
        self.amountReceived = amountReceived
        self.amountReturned = amountReturned
        self.currency = currency
        self.method = method
        self.paidAt = paidAt
        self.reason = reason
        self.refund = refund
        self.presentment = presentment
    }

    /// The same, with the word that the shop must hurry.
    var closing: Payment {
        Payment(
            state: state,
            amount: amount,
            amountReceived: amountReceived,
            amountReturned: amountReturned,
            currency: currency,
            method: method,
            paidAt: paidAt,
            reason: .windowClosing,
            refund: refund,
            presentment: presentment
        )
    }

    /// The same without the refund that has not succeeded.
    package var withoutRefund: Payment {
        Payment(
            state: state,
            amount: amount,
            amountReceived: amountReceived,
            amountReturned: amountReturned,
            currency: currency,
            method: method,
            paidAt: paidAt,
            reason: reason,
            presentment: presentment
        )
    }

    /// Whether less was captured than was authorised, once and for all: the rest is not charged any more.
    package var isPartOfHold: Bool {
        state == .paid && amountReceived > 0 && amount.map { amountReceived < $0 } ?? false
    }

    /// Whether a part of a hold was captured, and the rest is still held.
    ///
    /// A warning that its window closes stands in the place of the reason.
    package var isPartlyCaptured: Bool {
        state == .partiallyPaid && (reason == .held || reason == .windowClosing)
    }

    /// Six characters that change when there is news of the payment: another word, sum or reason.
    ///
    /// How and when it is paid is told with these, and is no news by itself: it may become known later
    /// than the money, from another object. A refund that has not succeeded is reported by an event of its
    /// own (``PaymentLook/isRefundNews``).
    package var fingerprint: String {
        PaymentMemory.fingerprint(of: [
            state.rawValue, amount.map { "\($0)" } ?? "", "\(amountReceived)", "\(amountReturned)",
            reason?.rawValue ?? "",
        ])
    }
}

/// The one word for a payment.
///
/// | word | it means |
/// |---|---|
/// | `awaiting_customer` | the customer still has to do something (``NextStep``) |
/// | `processing` | a bank is at work, and may still refuse |
/// | `authorised` | the customer has agreed; the shop has not taken the money yet |
/// | `paid` | the money is there |
/// | `partially_paid` | part of it has arrived, and the rest is waited for, or still held for the shop |
/// | `failed` | this try has failed; nothing was taken |
/// | `expired` | time ran out before it was paid or taken |
/// | `cancelled` | somebody has called it off |
/// | `refunded`, `partially_refunded` | it was paid, and all or part was given back |
/// | `disputed` | it was paid, and the payer's bank has asked for it back |
/// | `reversed` | it was paid, and the bank has taken it back |
/// | `unknown` | nothing was seen, or nothing that says any of this |
package enum PaymentState: String, Hashable, Sendable, CaseIterable {
    case awaitingCustomer = "awaiting_customer"
    case processing
    case authorised
    case paid
    case partiallyPaid = "partially_paid"
    case failed
    case expired
    case cancelled
    case refunded
    case partiallyRefunded = "partially_refunded"
    case disputed
    case reversed
    case unknown

    /// Whether the whole sum had arrived, whatever became of it since.
    package var wasPaid: Bool {
        switch self {
        case .paid, .refunded, .partiallyRefunded, .disputed, .reversed: true
        case .awaitingCustomer, .processing, .authorised, .partiallyPaid, .failed, .expired,
            .cancelled, .unknown:
            false
        }
    }

    /// Whether the money, or part of it, is with the shop as far as was seen.
    package var isPaid: Bool { self == .paid || self == .partiallyRefunded }

    /// The type of the event that tells it: `payment.paid`.
    package var eventType: String { "payment.\(rawValue)" }
}

/// Why a payment is what it is, in words that may be told to the payer.
///
/// They are ours: what an issuer says of a card, such as that it was stolen, is for the shop alone
/// and stays in the object. *Source*: <https://docs.stripe.com/declines/codes>.
package enum PaymentReason: String, Hashable, Sendable, CaseIterable {
    /// Refused, and no more is to be said.
    case declined
    case insufficientFunds = "insufficient_funds"
    case expiredCard = "expired_card"
    /// The bank wants the customer to confirm it (3-D Secure).
    case authenticationRequired = "authentication_required"
    case authenticationFailed = "authentication_failed"
    /// The customer went back at the bank.
    case customerAborted = "customer_aborted"
    /// Something broke on the way; another try may do.
    case processingError = "processing_error"
    /// Nobody paid in time.
    case unused
    /// The customer had agreed, and the shop did not take it in time: it goes back by itself.
    case notChargedInTime = "not_charged_in_time"
    /// The customer has agreed, and the shop has not much time left to take the money.
    case windowClosing = "window_closing"
    /// The bank's hold ended before the shop took the money.
    case authorisationExpired = "authorisation_expired"
    /// The hold was given up before any money was taken.
    case released
    case abandoned
    case duplicate
    case fraudulent
    /// Somebody asked for it.
    case requested
    /// A way to pay is kept; no bank was asked yet.
    case saved
    /// A part of a hold was captured, and the rest of it is still held for the shop.
    case held
    /// The payer's bank has asked a question about it, and has taken nothing.
    case inquiry
    /// The payer's bank has taken it back, as banks may with debits.
    case bankReturned = "bank_returned"
    case disputeLost = "dispute_lost"
    /// The way to pay was taken from its customer, with nothing paid by it.
    case detached

    /// Why a try failed, by the upstream's words for it.
    ///
    /// `decline` is the issuer's own word, such as `insufficient_funds`. Any word has a reason.
    package init(code: String?, decline: String? = nil) {
        // The issuer's word is the narrower one, where it is one we tell.
        let narrow = decline.flatMap { Self.reasons[$0] }
        self = narrow ?? code.flatMap { Self.reasons[$0] } ?? .declined
    }

    /// Codes of errors and declines, and of failed redirects, that are more than a refusal.
    private static let reasons: [String: PaymentReason] = {
        let words: [PaymentReason: [String]] = [
            .insufficientFunds: ["insufficient_funds", "balance_insufficient"],
            .expiredCard: ["expired_card", "expired_payment_method"],
            .authenticationRequired: [
                "authentication_required", "authentication_not_handled",
                "payment_intent_action_required", "invoice_payment_intent_requires_action",
            ],
            .authenticationFailed: [
                "payment_intent_authentication_failure", "setup_intent_authentication_failure",
                "authentication_failure", "payment_method_microdeposit_failed",
                "bank_account_verification_failed",
            ],
            .customerAborted: ["user_abort", "payment_method_customer_decline"],
            .processingError: [
                "processing_error", "payment_method_provider_timeout", "rate_limit",
                "lock_timeout", "issuer_not_available", "reenter_transaction", "try_again_later",
                "payment_method_microdeposit_processing_error",
            ],
            .unused: [
                "payment_intent_payment_attempt_expired", "setup_intent_setup_attempt_expired",
                "payment_method_microdeposit_verification_timeout", "customer_session_expired",
            ],
            .authorisationExpired: [
                "capture_charge_authorization_expired", "charge_expired_for_capture",
                "expired_uncaptured_charge",
            ],
        ]
        var reasons: [String: PaymentReason] = [:]
        for (reason, codes) in words { for code in codes { reasons[code] = reason } }
        return reasons
    }()
}
