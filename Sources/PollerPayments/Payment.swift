package import PollerIdentity

/// The state of a payment for the payer, and its sums.
///
/// *Problem*: the status of an upstream's object describes the object, not the payment. A source is `consumed` while
/// its bank may still refuse, an intent stays `succeeded` when all of it was refunded, and a customer who is done sees
/// `pending`. Messages based on the status would be wrong. *Approach*: the state is a pure, total function of the
/// observed facts (``PaymentFacts``), and every channel uses only the state. Money has priority: an observed charge,
/// current or earlier, decides. Without one the object's status decides (``init(_:)``). Between two polls the evidence
/// is stored and not the state (``PaymentMemory``), so the state can always be derived again. *`paid` is taken back*
/// only by a refund, a dispute, or the bank, whatever the object's status.
///
/// *Shape* (unknown fields are left out):
/// ```
/// {"state":"paid","amount":1099,"amount_received":1099,"currency":"eur","method":"ideal",
///  "paid_at":"2026-11-20T09:30:00.125Z"}
/// ```
/// *Units*: amounts in the currency's smallest unit.
package struct Payment: Hashable, Sendable {
    package let state: PaymentState
    /// The amount to be paid; `nil` when the object names none.
    package let amount: Amount?
    /// The amount that has arrived, even if it was returned since.
    package let amountReceived: Amount
    /// The part of the received amount that was returned.
    package let amountReturned: Amount
    /// The currency, three lower-case letters.
    package let currency: String?
    /// The payment method; `nil` while none is chosen.
    package let method: PaymentMethod?
    /// The time of the payment, if known; only once money has arrived.
    package let paidAt: Timestamp?
    /// The reason, if the state alone does not explain it.
    package private(set) var reason: PaymentReason?
    /// A refund that has not succeeded; not part of ``amountReturned``.
    package private(set) var refund: RefundProgress?
    /// The amount and currency shown to the customer, if the currency differs.
    package let presentment: Presentment?

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

    /// The payment with the reason that its capture window is closing.
    var closing: Payment {
        var copy = self
        copy.reason = .windowClosing
        return copy
    }

    /// The payment without its pending or failed refund.
    package var withoutRefund: Payment {
        var copy = self
        copy.refund = nil
        return copy
    }

    /// Whether less was captured than authorised, with no further capture.
    package var isPartOfHold: Bool {
        state == .paid && amountReceived > 0 && amount.map { amountReceived < $0 } ?? false
    }

    /// Whether more was received than the amount to be paid, as an overcapture may take more than was authorised.
    ///
    /// *Source*: <https://docs.stripe.com/payments/overcapture>.
    package var isMoreThanAmount: Bool {
        state.wasPaid && amount.map { amountReceived > $0 } ?? false
    }

    /// Whether a part of a hold was captured, and the rest is still held.
    ///
    /// A warning that its window closes replaces the reason.
    package var isPartlyCaptured: Bool {
        state == .partiallyPaid && (reason == .held || reason == .windowClosing)
    }

    /// Six characters that change when the payment changes: its state, a sum, or the reason.
    ///
    /// The method and time of the payment are reported with these, and are not a change of their own: they may become
    /// known later, from another object. A refund that has not succeeded has an event of its own
    /// (``PaymentReading/hasRefundChange``).
    package var fingerprint: String {
        PaymentMemory.fingerprint(of: [
            state.rawValue, amount.map { "\($0)" } ?? "", "\(amountReceived)", "\(amountReturned)",
            reason?.rawValue ?? "",
        ])
    }
}

/// The state of a payment.
///
/// | state | meaning |
/// |---|---|
/// | `awaiting_customer` | the customer still has to act (``NextStep``) |
/// | `processing` | a bank is working on it, and may still refuse |
/// | `authorised` | the customer has agreed; the shop has not taken the money yet |
/// | `paid` | the money was received |
/// | `partially_paid` | a part has arrived, and the rest is pending, or still held for the shop |
/// | `failed` | this attempt has failed; nothing was taken |
/// | `expired` | the time limit passed before it was paid or taken |
/// | `cancelled` | it was cancelled |
/// | `refunded` | it was paid, and all was refunded |
/// | `partially_refunded` | it was paid, and a part was refunded, or taken back by a lost dispute |
/// | `disputed` | it was paid, and the payer's bank has reclaimed it |
/// | `reversed` | it was paid, and the bank has taken it back, except for at most a tenth |
/// | `unknown` | nothing was observed, or nothing that determines a state |
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

    /// Whether the whole sum had arrived, even if it was returned since.
    package var wasPaid: Bool {
        switch self {
        case .paid, .refunded, .partiallyRefunded, .disputed, .reversed: true
        case .awaitingCustomer, .processing, .authorised, .partiallyPaid, .failed, .expired,
            .cancelled, .unknown:
            false
        }
    }

    /// Whether the shop has the money, or a part of it, as far as observed.
    package var isPaid: Bool { self == .paid || self == .partiallyRefunded }

    /// The type of the event for this state: `payment.paid`.
    package var eventType: String { "payment.\(rawValue)" }
}

/// The reason for a payment state, in terms that may be shown to the payer.
///
/// The codes are this system's. An issuer's reason, such as a stolen card, is only for the shop and stays in the
/// object. *Source*: <https://docs.stripe.com/declines/codes>.
package enum PaymentReason: String, Hashable, Sendable, CaseIterable {
    /// Refused, without a more precise reason.
    case declined
    case insufficientFunds = "insufficient_funds"
    case expiredCard = "expired_card"
    /// The bank requires authentication by the customer (3-D Secure).
    case authenticationRequired = "authentication_required"
    case authenticationFailed = "authentication_failed"
    /// The customer cancelled at the bank.
    case customerAborted = "customer_aborted"
    /// A technical error; another attempt may succeed.
    case processingError = "processing_error"
    /// Not paid in time.
    case unused
    /// The customer had agreed, but the shop did not take the money in time; it is returned automatically.
    case notChargedInTime = "not_charged_in_time"
    /// The customer has agreed, and the shop's time to take the money is running out.
    case windowClosing = "window_closing"
    /// The bank's hold ended before the shop took the money.
    case authorisationExpired = "authorisation_expired"
    /// The hold was released before any money was taken.
    case released
    case abandoned
    case duplicate
    case fraudulent
    /// Requested by the customer or the shop.
    case requested
    /// A payment method is saved; no bank was involved yet.
    case saved
    /// A part of a hold was captured, and the rest of it is still held for the shop.
    case held
    /// The payer's bank has inquired about it, and has taken nothing.
    case inquiry
    /// The payer's bank has taken it back, as is possible for debits.
    case bankReturned = "bank_returned"
    case disputeLost = "dispute_lost"
    /// The payment method was detached from its customer without a payment.
    case detached

    /// Maps the upstream's codes to a reason.
    ///
    /// `decline` is the issuer's code, such as `insufficient_funds`. Unknown codes map to `declined`.
    package init(code: String?, decline: String? = nil) {
        // The issuer's code is more precise, if it is one that may be shown.
        let narrow = decline.flatMap { Self.reasons[$0] }
        self = narrow ?? code.flatMap { Self.reasons[$0] } ?? .declined
    }

    /// The codes of errors, declines and failed redirects that are more precise than a refusal.
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
