import HTTPTypes
import NIOCore

/// The first state of the next refund, as set by a test.
struct RefundStart {
    /// `pending` or `requires_action`.
    let status: String
    let pendingReason: String?
}

extension SandboxState {
    /// All statuses of a refund.
    ///
    /// *Source*: <https://docs.stripe.com/api/refunds/object>.
    static let refundStatuses: Set<String> = [
        "pending", "requires_action", "succeeded", "failed", "canceled",
    ]

    /// Sets the amount shown to the customer of an intent in another currency.
    mutating func present(_ id: String, _ presentment: SandboxPresentment) {
        intents[id]?.presentment = presentment
        intents[id]?.changed()
        guard let charge = intents[id]?.latestCharge else { return }
        charges[charge]?.presentment = presentment
        charges[charge]?.changed()
    }

    /// Moves a refund to a status, including the money.
    ///
    /// - Parameters:
    ///   - id: A refund.
    ///   - status: One of ``refundStatuses``; an open status is only valid for an open refund.
    ///   - reason: The failure reason or pending reason.
    /// - Throws: An error for a transition that does not exist at Stripe.
    mutating func moveRefund(_ id: String, to status: String, reason: String?) throws(APIError) {
        guard let refund = refunds[id] else { return }
        let isOpen = ["pending", "requires_action"].contains(refund.status)
        switch status {
        case "succeeded": settleRefund(id)
        case "failed": failRefund(id, reason: reason ?? "unknown")
        case _ where !isOpen:
            throw APIError.invalid(
                "Refund \(id) is \(refund.status) and stays so.",
                param: "status"
            )
        case "canceled": endRefund(id, as: status)
        default:
            refunds[id]?.status = status
            refunds[id]?.pendingReason = status == "pending" ? reason ?? "processing" : nil
            announceRefund(id)
        }
    }

    /// Completes a pending refund.
    mutating func settleRefund(_ id: String) {
        guard var refund = refunds[id], refund.status != "succeeded",
            let charge = charges[refund.charge]
        else { return }
        // A failed refund must be deducted from the charge again.
        if !["pending", "requires_action"].contains(refund.status) {
            charges[charge.id]?.refundedAmount += refund.amount
            charges[charge.id]?.changed()
        }
        refund.status = "succeeded"
        refund.pendingReason = nil
        refund.failure = nil
        refund.balanceTransaction = recordTransaction(
            .refund,
            refund.amount,
            about: id,
            of: charge,
            id: ledger["txn_\(id.dropFirst(3))"] == nil ? "txn_\(id.dropFirst(3))" : nil
        )
        refunds[id] = refund
        if let source = refund.waitsForSource, var receiver = sources[source]?.receiver {
            receiver.charged -= min(refund.amount, receiver.charged)
            receiver.returned += refund.amount
            sources[source]?.receiver = receiver
            sources[source]?.changed()
        }
        announceRefund(id)
    }

    /// Fails a refund, before or after it succeeded; the money returns to the shop.
    mutating func failRefund(_ id: String, reason: String) {
        guard var refund = refunds[id], !["failed", "canceled"].contains(refund.status),
            let charge = charges[refund.charge]
        else { return }
        var line: String?
        if refund.balanceTransaction != nil {
            line = recordTransaction(.refundFailure, refund.amount, about: id, of: charge)
        }
        refund.failure = .init(reason: reason, line: line)
        refunds[id] = refund
        endRefund(id, as: "failed")
        emit("refund.failed", refunds[id]?.json() ?? ByteBuffer(), account: refund.account)
    }

    /// Ends a refund without moving money.
    mutating func endRefund(_ id: String, as status: String) {
        guard let refund = refunds[id] else { return }
        refunds[id]?.status = status
        charges[refund.charge]?.refundedAmount -= refund.amount
        charges[refund.charge]?.changed()
        announceRefund(id)
    }

    /// Emits the update under its old and its new name, as Stripe does.
    private mutating func announceRefund(_ id: String) {
        guard let refund = refunds[id] else { return }
        emit("refund.updated", refund.json(), account: refund.account)
        emit("charge.refund.updated", refund.json(), account: refund.account)
    }
}
