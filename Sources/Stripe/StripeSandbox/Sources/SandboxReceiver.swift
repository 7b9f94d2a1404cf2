import JSONText
import NIOCore

/// The receiver of a receiver Source: the address to pay to, and the amounts.
///
/// Transfers cannot be declined: money may arrive in parts, in excess, or after the Source has ended. The Source
/// becomes chargeable when its amount has arrived. Excess and late money waits to be returned, for which the customer
/// must provide an account (`refund_attributes`); refunds stay pending until then.
/// *Source*: <https://docs.stripe.com/sources/ach-credit-transfer>, <https://docs.stripe.com/sources/multibanco>.
struct SandboxReceiver: Codable {
    let address: String
    /// `email`, `manual` or `none`: how refund details are requested.
    let refundMethod: String
    /// `missing`, `requested` or `available`.
    var refundStatus = "missing"
    var received = 0
    var charged = 0
    var returned = 0

    /// The amount that can still be charged.
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

/// A payment to a receiver Source.
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
        .object { writer in
            writer.field("id", id)
            writer.field("object", "source_transaction")
            writer.field("amount", amount)
            writer.field("created", created)
            writer.field("currency", currency)
            writer.field("livemode", false)
            writer.field("source", source)
            writer.field("status", status)
            writer.field("type", type)
            // The specification has no such hash for other types.
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
    }
}

extension SandboxState {
    /// Adds a payment to a receiver Source: the full amount, a part, an excess or late money.
    ///
    /// - Parameters:
    ///   - id: A Source with a receiver.
    ///   - amount: The amount in the currency's smallest unit.
    ///   - isPending: Whether the bank announces the payment first; it then arrives after the automatic delay.
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

    /// Completes a pending payment.
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

    /// Adds received money: enough makes the Source chargeable; money for an ended Source is returned.
    private mutating func receive(_ amount: Int, for id: String) {
        guard var source = sources[id], var receiver = source.receiver else { return }
        receiver.received += amount
        let isOver = !["pending", "chargeable"].contains(source.status)
        // Money for an ended Source is returned immediately.
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

    /// Requests an account for refunds, unless it is known.
    mutating func requestRefundAttributes(_ id: String) {
        guard let source = sources[id], let receiver = source.receiver,
            receiver.refundMethod != "none", receiver.refundStatus == "missing"
        else { return }
        sources[id]?.receiver?.refundStatus = "requested"
        sources[id]?.changed()
        emit("source.refund_attributes_required", sourceJSON(id), account: source.account)
    }

    /// Records that the customer has provided an account, and completes the waiting refunds.
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

/// Stripe's test values for micro-deposits; the entered values decide the outcome.
enum Microdeposits {
    /// The outcome of an attempt.
    private enum Outcome {
        case verified, mismatch, attemptsExceeded, timedOut
    }

    /// The reason for a rejection, and the remaining attempts.
    struct Refusal {
        let failure: PaymentFailure
        let left: Int

        /// Returns the error for the request.
        func error(param: String? = nil) -> APIError {
            var error = APIError.invalid(failure.message, code: failure.code, param: param)
            // The attempt is used up: the same request sent again must not use another.
            error.hasBegun = true
            return error
        }
    }

    /// The maximum number of attempts.
    static let attemptsMax = 5

    /// Checks values, using one of the `left` attempts; returns `nil` when they are correct.
    static func refusal(of values: [String], left: Int) -> Refusal? {
        let outcome = Self.outcome(of: values)
        if outcome == .verified { return nil }
        let left = outcome == .mismatch ? left - 1 : 0
        let isLast = outcome == .mismatch && left == 0
        return Refusal(failure: failure(isLast ? .attemptsExceeded : outcome), left: left)
    }

    /// Returns the outcome for two amounts in cents, in either order, or for a six-character descriptor code.
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
