import HTTPTypes
import JSONText
import NIOCore

/// A line of the balance: money that came, or went.
///
/// | what happened | `type` of a card, of other methods | `reporting_category` |
/// |---|---|---|
/// | a charge was taken | `charge`, `payment` | `charge` |
/// | a charge that had succeeded failed after all | `payment_failure_refund` | `charge_failure` |
/// | a refund left | `refund`, `payment_refund` | `refund` |
/// | a refund came back | `refund_failure` | `refund_failure` |
/// | a dispute took the money | `adjustment` | `dispute` |
/// | a dispute was won | `adjustment` | `dispute_reversal` |
///
/// The sum of an account's lines is what it has. The sandbox takes no fees; money that is only reserved makes no line.
/// *Source*: <https://docs.stripe.com/reports/balance-transaction-types>.
struct SandboxBalanceTransaction: Codable {
    /// Why the balance moved.
    enum Movement {
        case charge, chargeFailure, refund, refundFailure, dispute, disputeReversal

        /// What went away counts below zero.
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

        /// Money of cards and of all other methods has different names.
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

    /// When money can be paid out: two days later.
    private static let settlingSeconds = 2 * 24 * 3600

    let id: String
    let account: String?
    /// With its sign.
    let amount: Int
    let currency: String
    let created: Int
    /// The charge, refund or dispute it is about.
    let source: String
    let type: String
    let category: String

    func json(now: Int) -> ByteBuffer {
        ByteBuffer(
            bytes: JSONWriter.object { writer in
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
        )
    }
}

extension SandboxState {
    /// `GET /v1/balance_transactions` and `GET /v1/balance_transactions/{id}`.
    func routeLedger(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        let now = nowSeconds
        switch (call.method, call.segments.count) {
        case (.get, 1): break
        case (.get, 2):
            let id = call.segment(1)
            guard let found = ledger[id], found.account == call.account else {
                throw APIError.noSuch("balance transaction", id)
            }
            return APIReply(body: found.json(now: now))
        default: throw Self.unrecognized(call)
        }
        let form = call.form
        try form.allow([
            "created", "currency", "ending_before", "expand", "limit", "source", "starting_after",
            "type",
        ])
        let created = try form.range("created")
        let (source, type, currency) = (form["source"], form["type"], form["currency"])
        return try ListPage(call, kind: "balance transaction") { ledger.number(of: $0) }
            .reply(ledger.all) { number in
                let line = ledger[number]
                return line.account == call.account && created.contains(line.created)
                    && (source == nil || line.source == source)
                    && (type == nil || line.type == type)
                    && (currency == nil || line.currency == currency)
            } json: {
                ledger[$0].json(now: now)
            }
    }

    /// Writes a line.
    ///
    /// - Parameters:
    ///   - movement: Why the balance moves.
    ///   - amount: How much, without sign.
    ///   - source: The charge, refund or dispute it is about.
    ///   - charge: Whose money it is.
    ///   - id: Its id where that is known already; a new one unless given.
    /// - Returns: The line's id.
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

    /// Books a charge whose money has just been taken, and lets its test number object to it.
    ///
    /// - Parameters:
    ///   - id: The charge.
    ///   - amount: What was taken now, where several captures take it; all of it once unless given.
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
