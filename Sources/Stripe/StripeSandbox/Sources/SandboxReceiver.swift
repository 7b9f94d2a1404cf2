import JSONText
import NIOCore

/// Where the customer of a receiver source sends the money, and what became of it.
///
/// Nobody can refuse a transfer: money comes in parts, too much of it, or after the source has ended. The source is
/// chargeable when its amount is there; what is too much or too late waits to go back, for which the customer must
/// say where to (`refund_attributes`), and refunds stay pending until then.
/// *Source*: <https://docs.stripe.com/sources/ach-credit-transfer>, <https://docs.stripe.com/sources/multibanco>.
struct SandboxReceiver: Codable {
    let address: String
    /// `email`, `manual` or `none`: how refund data is asked for.
    let refundMethod: String
    /// `missing`, `requested` or `available`.
    var refundStatus = "missing"
    var received = 0
    var charged = 0
    var returned = 0

    /// What can still be charged.
    var available: Int { received - charged - returned }

    func render(into writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("address", address)
            writer.field("amount_charged", charged)
            writer.field("amount_received", received)
            writer.field("amount_returned", returned)
            writer.field("refund_attributes_method", refundMethod)
            writer.field("refund_attributes_status", refundStatus)
        }
    }
}

/// One payment to a receiver source.
struct SandboxTransaction: Codable {
    let id: String
    let source: String
    let type: String
    let amount: Int
    let currency: String
    let created: Int
    /// `pending`, `succeeded` or `failed`.
    var status: String

    func json() -> ByteBuffer {
        ByteBuffer(
            bytes: JSONWriter.object { writer in
                writer.field("id", id)
                writer.field("object", "source_transaction")
                writer.field("amount", amount)
                writer.field("created", created)
                writer.field("currency", currency)
                writer.field("livemode", false)
                writer.field("source", source)
                writer.field("status", status)
                writer.field("type", type)
                // The specification has no such hash for the other types.
                switch type {
                case "ach_credit_transfer":
                    writer.object(type) { writer in
                        writer.field("customer_data", "")
                        writer.field("fingerprint", "Ih3foEnRvLXShyfB")
                        writer.field("last4", "1000")
                        writer.field("routing_number", "110000000")
                    }
                case "sepa_credit_transfer":
                    writer.object(type) { writer in
                        writer.field("reference", "sandbox payment")
                        writer.field("sender_iban", "DE89370400440532013000")
                        writer.field("sender_name", "Jenny Rosen")
                    }
                default: break
                }
            }
        )
    }
}

extension SandboxState {
    /// Money arrives for a receiver source: all of it, a part, too much, or too late.
    ///
    /// - Parameters:
    ///   - id: A source with a receiver.
    ///   - amount: In the currency's smallest unit.
    ///   - isPending: Whether the bank announces it first and it arrives after the automatic delay.
    mutating func pay(_ id: String, amount: Int, isPending: Bool) {
        guard let source = sources[id], source.receiver != nil else { return }
        let transaction = SandboxTransaction(
            id: ids.make("srctxn_"),
            source: id,
            type: source.type,
            amount: amount,
            currency: source.currency ?? "eur",
            created: nowSeconds,
            status: isPending ? "pending" : "succeeded"
        )
        transactions[id, default: []].append(transaction)
        emit("source.transaction.created", transaction.json(), account: source.account)
        if isPending {
            scheduleAutomatic(.settleTransaction(transaction.id, source: id))
        } else {
            receive(amount, for: id)
        }
    }

    /// A pending payment arrives.
    mutating func settleTransaction(_ id: String, of sourceID: String) {
        guard let source = sources[sourceID],
            let index = transactions[sourceID]?.firstIndex(where: { $0.id == id }),
            var transaction = transactions[sourceID]?[index], transaction.status == "pending"
        else { return }
        transaction.status = "succeeded"
        transactions[sourceID]?[index] = transaction
        emit(
            "source.transaction.updated",
            transaction.json(),
            account: source.account,
            previous: JSONWriter.object { $0.field("status", "pending") }
        )
        receive(transaction.amount, for: sourceID)
    }

    /// Enough makes the source chargeable; money for one that has ended waits to go back.
    private mutating func receive(_ amount: Int, for id: String) {
        guard var source = sources[id], var receiver = source.receiver else { return }
        receiver.received += amount
        let isOver = !["pending", "chargeable"].contains(source.status)
        // Money for a source that is over goes back at once.
        if isOver { receiver.returned += amount }
        source.receiver = receiver
        source.changed()
        sources[id] = source
        if isOver {
            requestRefundAttributes(id)
        } else if source.status == "pending", receiver.available >= source.amount ?? 1 {
            settleSource(id, to: "chargeable")
        }
    }

    /// Asks where money can be sent back to, unless that is known.
    mutating func requestRefundAttributes(_ id: String) {
        guard let source = sources[id], let receiver = source.receiver,
            receiver.refundMethod != "none", receiver.refundStatus == "missing"
        else { return }
        sources[id]?.receiver?.refundStatus = "requested"
        sources[id]?.changed()
        emit("source.refund_attributes_required", sourceJSON(id), account: source.account)
    }

    /// The customer told where money can be sent back to; refunds that waited for it arrive.
    mutating func refundAttributesArrived(_ id: String) {
        guard sources[id]?.receiver != nil else { return }
        sources[id]?.receiver?.refundStatus = "available"
        sources[id]?.changed()
        for number in refunds.all
        where refunds[number].status == "pending" && refunds[number].waitsForSource == id {
            scheduleAutomatic(.settleRefund(refunds[number].id))
        }
    }
}

/// Stripe's test values for micro-deposits: what the customer types decides what happens.
enum Microdeposits {
    /// What a try to verify leads to.
    private enum Outcome {
        case verified, mismatch, attemptsExceeded, timedOut
    }

    /// Why values were refused, and the tries that are left after them.
    struct Refusal {
        let failure: PaymentFailure
        let left: Int

        /// The answer to the request that brought them.
        func error(param: String? = nil) -> APIError {
            var error = APIError.invalid(failure.message, code: failure.code, param: param)
            // The attempt is spent: the same request sent again must not spend another.
            error.hasBegun = true
            return error
        }
    }

    /// Tries a customer has.
    static let attemptsMax = 5

    /// Judges values on which one of the tries `left` is spent; nil when they are right.
    static func refusal(of values: [String], left: Int) -> Refusal? {
        let outcome = Self.outcome(of: values)
        if outcome == .verified { return nil }
        let left = outcome == .mismatch ? left - 1 : 0
        let isLast = outcome == .mismatch && left == 0
        return Refusal(failure: failure(isLast ? .attemptsExceeded : outcome), left: left)
    }

    /// Judges the amounts in cents, in either order, or the six characters of a descriptor code.
    private static func outcome(of values: [String]) -> Outcome {
        switch Set(values) {
        case ["32", "45"], ["SM11AA"]: .verified
        case ["10", "11"], ["SM33CC"]: .attemptsExceeded
        case ["40", "41"], ["SM44DD"]: .timedOut
        default: .mismatch
        }
    }

    private static func failure(_ outcome: Outcome) -> PaymentFailure {
        switch outcome {
        case .timedOut:
            PaymentFailure(
                code: "payment_method_microdeposit_verification_timeout",
                message: "Microdeposit verification was not completed in time."
            )
        case .attemptsExceeded:
            PaymentFailure(
                code: "payment_method_microdeposit_verification_attempts_exceeded",
                message: "You have exceeded the number of allowed verification attempts."
            )
        case .mismatch, .verified:
            PaymentFailure(
                code: "payment_method_microdeposit_verification_amounts_mismatch",
                message: "The amounts provided do not match the amounts that were sent to the bank "
                    + "account."
            )
        }
    }
}
