import HTTPTypes
import JSONText
import NIOCore
import SafeNumbers

/// What becomes of a refund that was asked for.
enum RefundOutcome {
    case succeeds
    /// Is pending at first.
    case succeedsLater
    /// Succeeds, and comes back: the account is closed.
    case failsLater
}

/// A Refund as the sandbox keeps it.
///
/// ```
/// requires_action ──▶ pending ──▶ succeeded ──▶ failed
///        └──▶ canceled  └──▶ failed
/// ```
/// The charge's `amount_refunded` counts a refund from the moment it is created. A refund that failed or was
/// canceled has given the money back to the shop: `amount_refunded` shrinks again.
/// *Source*: <https://docs.stripe.com/refunds#failed-refunds>; `pending_reason` since 2025-04-30.basil
/// (<https://docs.stripe.com/changelog/basil/2025-04-30/refund-pending-reason>).
struct SandboxRefund: Codable {
    /// Why it came back, and the line of the balance that says so.
    struct Failure: Codable {
        let reason: String
        let line: String?
    }

    let id: String
    let account: String?
    let charge: String
    let paymentIntent: String?
    let amount: Int
    let currency: String
    let created: Int
    let reason: String?
    /// The receiver source whose refund data is awaited; nil when the money can go at once.
    let waitsForSource: String?
    var metadata: [String: String]
    /// `pending`, `requires_action`, `succeeded`, `failed` or `canceled`.
    var status: String
    /// `processing`, `insufficient_funds` or `charge_pending`; nil unless it is pending.
    var pendingReason: String?
    /// Where the customer is asked for an account; nil when none is needed.
    var instructionsEmail: String?
    /// What goes back in the customer's own currency; nil when that is the charge's.
    var presentment: SandboxPresentment?
    /// The line of the balance it made; nil of money that was only reserved.
    var balanceTransaction: String?
    /// Why it failed, and the line that brought the money back.
    var failure: Failure?

    func json() -> ByteBuffer {
        ByteBuffer(
            bytes: JSONWriter.object { writer in
                writer.field("id", id)
                writer.field("object", "refund")
                writer.field("amount", amount)
                writer.field("balance_transaction", balanceTransaction)
                writer.field("charge", charge)
                writer.field("created", created)
                writer.field("currency", currency)
                if let failure {
                    if let line = failure.line {
                        writer.field("failure_balance_transaction", line)
                    }
                    writer.field("failure_reason", failure.reason)
                }
                if let instructionsEmail {
                    writer.field("instructions_email", instructionsEmail)
                }
                writer.field("metadata", metadata)
                if status == "requires_action" { renderAction(into: &writer) }
                writer.field("payment_intent", paymentIntent)
                if status == "pending", let pendingReason {
                    writer.field("pending_reason", pendingReason)
                }
                presentment?.render(into: &writer)
                writer.field("reason", reason)
                writer.nulls("receipt_number", "source_transfer_reversal")
                writer.field("status", status)
                writer.nulls("transfer_reversal")
            }
        )
    }

    /// The customer was written to, and has 45 days.
    private func renderAction(into writer: inout JSONWriter) {
        writer.object("next_action") { writer in
            writer.object("display_details") { writer in
                writer.object("email_sent") { writer in
                    writer.field("email_sent_at", created)
                    writer.field("email_sent_to", instructionsEmail ?? "payer@example.com")
                }
                writer.field("expires_at", created + 45 * 86_400)
            }
            writer.field("type", "display_details")
        }
    }
}

/// What a customer was shown in their own currency, as Adaptive Pricing does.
///
/// *Source*: `presentment_details` of <https://docs.stripe.com/api/charges/object>, since 2025-03-31.basil.
struct SandboxPresentment: Codable {
    let amount: Int
    let currency: String

    func render(into writer: inout JSONWriter) {
        writer.object("presentment_details") { writer in
            writer.field("presentment_amount", amount)
            writer.field("presentment_currency", currency)
        }
    }

    /// The share that belongs to a part of a sum.
    func share(_ part: Int, of whole: Int) -> SandboxPresentment {
        // The product is taken in floating point: it need not fit.
        let share = whole > 0 ? Double(amount) * Double(part) / Double(whole) : 0
        return SandboxPresentment(amount: Int(saturating: share.rounded()), currency: currency)
    }
}

extension SandboxState {
    private static let refundParameters: Set<String> = [
        "amount", "charge", "currency", "customer", "expand", "instructions_email", "metadata",
        "origin", "payment_intent", "reason", "refund_application_fee", "reverse_transfer",
    ]

    /// `/v1/refunds`, `/v1/refunds/{id}` and `…/cancel`.
    mutating func routeRefunds(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        switch (call.method, call.segments.count) {
        case (.post, 1):
            let id = call.form["payment_intent"].flatMap { intents[$0]?.latestCharge }
            guard let name = call.form["charge"] ?? id else { throw APIError.missing("charge") }
            guard let charge = charges[name], charge.account == call.account else {
                throw APIError.noSuch("charge", name, param: "charge", inPath: false)
            }
            return APIReply(body: try refund(call, charge).json())
        case (.get, 1): return try listRefunds(call, charge: call.form["charge"])
        default: break
        }
        let id = call.segment(1)
        guard call.segments.count > 1, var refund = refunds[id], refund.account == call.account
        else { throw APIError.noSuch("refund", id) }
        switch (call.method, call.segments.count, call.segment(2)) {
        case (.get, 2, _): return APIReply(body: refund.json())
        case (.post, 2, _):
            try call.form.allow(["expand", "metadata"])
            refund.metadata = try call.form.updated(metadata: refund.metadata)
            refunds[id] = refund
            return APIReply(body: refund.json())
        case (.post, 3, "cancel"):
            guard refund.status == "requires_action" else {
                throw APIError.invalid("Refund \(id) is \(refund.status): it cannot be canceled.")
            }
            endRefund(id, as: "canceled")
            return APIReply(body: refunds[id]?.json() ?? ByteBuffer())
        default: throw Self.unrecognized(call)
        }
    }

    /// Those of one charge or intent, if that is asked for.
    func listRefunds(_ call: APICall, charge: String?) throws(APIError) -> APIReply {
        let intent = call.form["payment_intent"]
        let created = try call.form.range("created")
        return try ListPage(call, kind: "refund") { refunds.number(of: $0) }
            .reply(refunds.all) { number in
                let refund = refunds[number]
                return refund.account == call.account && created.contains(refund.created)
                    && (charge == nil || refund.charge == charge)
                    && (intent == nil || refund.paymentIntent == intent)
            } json: {
                refunds[$0].json()
            }
    }

    /// Gives back what was charged, or a part of it.
    mutating func refund(_ call: APICall, _ found: SandboxCharge) throws(APIError) -> SandboxRefund
    {
        let form = call.form
        try form.allow(Self.refundParameters)
        let reason = try form.choice(
            "reason",
            ["duplicate", "fraudulent", "requested_by_customer"]
        )
        let metadata = try form.updated(metadata: [:])
        var charge = found
        guard charge.status == "succeeded" else {
            throw APIError.invalid(
                "Charge \(charge.id) is \(charge.status) and cannot be refunded.",
                code: "charge_not_refundable"
            )
        }
        let isFought = disputes.all.contains { number in
            let dispute = disputes[number]
            return dispute.charge == found.id && !dispute.isInquiry && dispute.status != "won"
        }
        guard !charge.isDisputed || !isFought else {
            throw APIError.invalid(
                "Charge \(charge.id) has been charged back; cannot issue a refund.",
                code: "charge_disputed"
            )
        }
        let left = charge.refundable - charge.refundedAmount
        let amount = try form.positive("amount") ?? left
        guard left > 0 else {
            throw APIError.invalid(
                "Charge \(charge.id) has already been refunded.",
                code: "charge_already_refunded"
            )
        }
        guard amount <= left else {
            throw APIError.invalid(
                "Refund amount (\(amount)) is greater than unrefunded amount on charge (\(left)).",
                code: "amount_too_large",
                param: "amount"
            )
        }
        // Money that was sent cannot be pulled back: the customer has to tell where to.
        let receiver = charge.source.flatMap { sources[$0.id] }.flatMap { source in
            source.receiver.map { $0.refundStatus == "available" ? nil : source.id }
        }
        let waitsFor = receiver ?? nil
        let isLater: Bool = if case .succeedsLater = charge.card?.refund { true } else { false }
        let start = nextRefund
        nextRefund = nil
        let isSent = waitsFor == nil && !isLater && start == nil
        let isTaken = charge.isTaken
        var refund = SandboxRefund(
            id: ids.make("re_"),
            account: charge.account,
            charge: charge.id,
            paymentIntent: charge.paymentIntent,
            amount: amount,
            currency: charge.currency,
            created: nowSeconds,
            reason: reason,
            waitsForSource: waitsFor,
            metadata: metadata,
            status: isSent ? "succeeded" : start?.status ?? "pending"
        )
        refund.instructionsEmail = form["instructions_email"]
        refund.presentment = charge.presentment?.share(amount, of: charge.amount)
        if refund.status == "pending" {
            refund.pendingReason = start?.pendingReason ?? "processing"
        }
        if isSent, isTaken {
            refund.balanceTransaction = recordTransaction(
                .refund,
                amount,
                about: refund.id,
                of: charge,
                id: "txn_\(refund.id.dropFirst(3))"
            )
        }
        refunds[refund.id] = refund
        charge.refundedAmount += amount
        charge.refunds.append(refund.id)
        charge.changed()
        charges[charge.id] = charge
        emit("refund.created", refund.json(), account: charge.account)
        emit("charge.refunded", chargeJSON(charge.id), account: charge.account)
        if let waitsFor { requestRefundAttributes(waitsFor) }
        if case .failsLater = charge.card?.refund { scheduleAutomatic(.failRefund(refund.id)) }
        if isLater { scheduleAutomatic(.settleRefund(refund.id)) }
        closeInquiries(of: charge.id)
        return refund
    }

    /// Who has the money back has nothing to inquire about.
    private mutating func closeInquiries(of charge: String) {
        guard charges[charge]?.isRefunded == true, charges[charge]?.isDisputed == true else {
            return
        }
        for number in disputes.all where disputes[number].charge == charge {
            let dispute = disputes[number]
            if dispute.isInquiry, !dispute.isClosed {
                moveDispute(dispute.id, to: "warning_closed")
            }
        }
    }
}
