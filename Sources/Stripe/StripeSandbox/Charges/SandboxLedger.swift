import HTTPTypes
import JSONText
import NIOCore

/// An entry of the account's balance: money that came in or went out.
///
/// | event | `type` for cards, for other methods | `reporting_category` |
/// |---|---|---|
/// | a charge was captured | `charge`, `payment` | `charge` |
/// | a succeeded charge failed | `payment_failure_refund` | `charge_failure` |
/// | a refund was sent | `refund`, `payment_refund` | `refund` |
/// | a refund failed | `refund_failure` | `refund_failure` |
/// | a dispute withdrew the money | `adjustment` | `dispute` |
/// | a dispute was won | `adjustment` | `dispute_reversal` |
///
/// The sum of an account's entries is its balance. The sandbox charges no fees, and a hold creates no entry.
/// *Source*: <https://docs.stripe.com/reports/balance-transaction-types>.
struct SandboxBalanceTransaction: OwnedObject, Codable {
    static let kind = "balance transaction"

    /// The reason for an entry.
    enum Movement {
        case charge, chargeFailure, refund, refundFailure, dispute, disputeReversal

        /// The sign of the amount: negative for money that leaves.
        var sign: Int {
            switch self {
            case .charge, .refundFailure, .disputeReversal: 1
            case .chargeFailure, .refund, .dispute: -1
            }
        }

        var category: String {
            switch self {
            case .charge: "charge"
            case .chargeFailure: "charge_failure"
            case .refund: "refund"
            case .refundFailure: "refund_failure"
            case .dispute: "dispute"
            case .disputeReversal: "dispute_reversal"
            }
        }

        /// Returns the type, which differs between cards and other methods.
        func type(ofCard isCard: Bool) -> String {
            switch self {
            case .charge: isCard ? "charge" : "payment"
            case .chargeFailure: "payment_failure_refund"
            case .refund: isCard ? "refund" : "payment_refund"
            case .refundFailure: "refund_failure"
            case .dispute, .disputeReversal: "adjustment"
            }
        }
    }

    /// The time until the money can be paid out: two days.
    private static let settlingSeconds = 2 * 24 * 3600

    let id: String
    let account: String?
    /// The amount with its sign.
    let amount: Int
    let currency: String
    let created: Int
    /// The ID of the charge, refund or dispute that caused the entry.
    let source: String
    let type: String
    let category: String

    func json(now: Int) -> ByteBuffer {
        .object { writer in
            writer.field("id", id)
            writer.field("object", "balance_transaction")
            writer.field("amount", amount)
            writer.field("available_on", created + Self.settlingSeconds)
            writer.field("balance_type", "payments")
            writer.field("created", created)
            writer.field("currency", currency)
            writer.nulls("description", "exchange_rate")
            writer.field("fee", 0)
            writer.field("fee_details", [])
            writer.field("net", amount)
            writer.field("reporting_category", category)
            writer.field("source", source)
            writer.field(
                "status",
                now < created + Self.settlingSeconds ? "pending" : "available"
            )
            writer.field("type", type)
        }
    }
}

extension SandboxState {
    /// `GET /v1/balance_transactions` and `GET /v1/balance_transactions/{id}`.
    func routeLedger(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        let now = nowSeconds
        switch (call.method, call.segments.count) {
        case (.get, 1):
            return try ledger.list(
                call,
                by: [
                    "currency": { $0.currency }, "source": { $0.source }, "type": { $0.type },
                ]
            ) { $0.json(now: now) }
        case (.get, 2): return APIReply(body: try ledger.found(call).json(now: now))
        default: throw Self.unrecognized(call)
        }
    }

    /// Records an entry.
    ///
    /// - Parameters:
    ///   - movement: The reason for the entry.
    ///   - amount: The amount without a sign.
    ///   - source: The ID of the charge, refund or dispute that caused it.
    ///   - charge: The charge whose money moves.
    ///   - id: The entry's ID; a new one when `nil`.
    /// - Returns: The entry's ID.
    @discardableResult
    mutating func recordTransaction(
        _ movement: SandboxBalanceTransaction.Movement,
        _ amount: Int,
        about source: String,
        of charge: SandboxCharge,
        id: String? = nil
    ) -> String {
        let id = id ?? ids.make("txn_")
        ledger[id] = SandboxBalanceTransaction(
            id: id,
            account: charge.account,
            amount: movement.sign * amount,
            currency: charge.currency,
            created: nowSeconds,
            source: source,
            type: movement.type(ofCard: charge.id.hasPrefix("ch_")),
            category: movement.category
        )
        return id
    }

    /// Records the capture of a charge, and schedules the dispute of a test number.
    ///
    /// - Parameters:
    ///   - id: The charge.
    ///   - amount: The captured amount, for one of several captures; `nil` records the total once.
    mutating func recordCapture(of id: String, amount: Int? = nil) {
        guard let charge = charges[id], charge.isTaken, amount ?? 1 > 0 else { return }
        guard ledger[charge.balanceTransaction] == nil else {
            if let amount { recordTransaction(.charge, amount, about: id, of: charge) }
            return
        }
        let line = charge.balanceTransaction
        recordTransaction(.charge, amount ?? charge.taken, about: id, of: charge, id: line)
        if case .isDisputed = charge.outcome { scheduleAutomatic(.dispute(id)) }
    }
}
