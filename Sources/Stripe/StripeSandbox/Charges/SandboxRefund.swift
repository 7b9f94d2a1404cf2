import HTTPTypes
import JSONText
import NIOCore
import SafeNumbers

enum RefundOutcome {
    case succeeds
    /// Is pending at first.
    case succeedsLater
    /// Succeeds and then fails because the account is closed.
    case failsLater
}

/// The sandbox's Refund.
///
/// ```
/// requires_action ──▶ pending ──▶ succeeded ──▶ failed
///        └──▶ canceled  └──▶ failed
/// ```
/// The charge's `amount_refunded` includes a refund from its creation. A failed or canceled refund returns the money
/// to the shop, and `amount_refunded` decreases again.
/// *Source*: <https://docs.stripe.com/refunds#failed-refunds>; `pending_reason` since 2025-04-30.basil
/// (<https://docs.stripe.com/changelog/basil/2025-04-30/refund-pending-reason>).
struct SandboxRefund: OwnedObject, Codable {
    static let kind = "refund"

    /// The reason for a failure and the entry that records it.
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
    /// The receiver Source whose refund details are missing; `nil` when the refund can be sent.
    let waitsForSource: String?
    var metadata: [String: String]
    /// `pending`, `requires_action`, `succeeded`, `failed` or `canceled`.
    var status: String
    /// `processing`, `insufficient_funds` or `charge_pending`; `nil` unless the refund is pending.
    var pendingReason: String?
    /// The email address that is asked for an account; `nil` when none is needed.
    var instructionsEmail: String?
    /// The amount in the customer's currency; `nil` if it is the charge's currency.
    var presentment: SandboxPresentment?
    /// The reversal of the charge's transfer; `nil` unless it was requested.
    var transferReversal: String?
    /// The refund's balance transaction; `nil` for a released hold.
    var balanceTransaction: String?
    /// The reason for a failure and the entry that returned the money.
    var failure: Failure?

    func json() -> ByteBuffer {
        .object { writer in
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
            writer.field("transfer_reversal", transferReversal)
        }
    }

    /// Renders the next action: the customer received an email and has 45 days to respond.
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

/// The amount shown to a customer in their own currency (Adaptive Pricing).
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

    /// Returns the proportional amount for a part of the total.
    func share(_ part: Int, of whole: Int) -> SandboxPresentment {
        // Computed in floating point, because the product may overflow.
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
        var refund = try refunds.found(call)
        let id = refund.id
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

    /// Lists the refunds, optionally of one charge or intent.
    func listRefunds(_ call: APICall, charge: String?) throws(APIError) -> APIReply {
        try refunds.list(call, by: ["payment_intent": { $0.paymentIntent }], isStrict: false) {
            charge == nil || $0.charge == charge
        } json: {
            $0.json()
        }
    }

    /// Refunds all or part of a charge.
    mutating func refund(_ call: APICall, _ found: SandboxCharge) throws(APIError) -> SandboxRefund
    {
        let form = call.form
        try form.allow(Self.refundParameters)
        let reason = try form.choice(
            "reason",
            ["duplicate", "fraudulent", "requested_by_customer"]
        )
        let metadata = try form.updated(metadata: [:])
        let reversesTransfer = try form.flag("reverse_transfer") ?? false
        let returnsFee = try form.flag("refund_application_fee") ?? false
        guard !reversesTransfer || found.sharing.destination != nil else {
            throw APIError.invalid(
                "Charge \(found.id) has no transfer that can be reversed.",
                param: "reverse_transfer"
            )
        }
        guard !returnsFee || found.sharing.feeAmount != nil else {
            throw APIError.invalid(
                "Charge \(found.id) has no application fee that can be refunded.",
                param: "refund_application_fee"
            )
        }
        var charge = found
        guard charge.status == "succeeded" else {
            throw APIError.invalid(
                "Charge \(charge.id) is \(charge.status) and cannot be refunded.",
                code: "charge_not_refundable"
            )
        }
        let isBeingDisputed = disputes.all.contains { number in
            let dispute = disputes[number]
            return dispute.charge == found.id && !dispute.isInquiry && dispute.status != "won"
        }
        guard !charge.isDisputed || !isBeingDisputed else {
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
        // A transfer cannot be reversed: the customer must provide an account.
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
        if reversesTransfer { refund.transferReversal = ids.make("trr_") }
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

    /// Closes the inquiries of a fully refunded charge.
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
