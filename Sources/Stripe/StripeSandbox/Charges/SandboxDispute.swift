import HTTPTypes
import JSONText
import NIOCore

/// The sandbox's Dispute: the customer or the bank demands the money back.
///
/// ```
///                             won (the money comes back)
///                              ▲
/// needs_response ──evidence──▶ under_review ──▶ lost
///   ▲        └── not answered, accepted ─────────▶ lost
///   │ escalated
/// warning_needs_response ──evidence──▶ warning_under_review ──▶ warning_closed
/// ```
///
/// A dispute withdraws the money immediately; an inquiry (`warning_…`) does so only when it is escalated. A returned
/// direct debit cannot be contested: its dispute is `lost` from the start.
/// *Source*: <https://docs.stripe.com/disputes/how-disputes-work>, <https://docs.stripe.com/api/disputes/object>.
struct SandboxDispute: OwnedObject, Codable {
    static let kind = "dispute"

    /// The deadline for evidence and the automatic end, in seconds since 1970.
    struct Due: Codable {
        let answer: Int
        let end: Int
    }

    static let statuses: Set<String> = [
        "warning_needs_response", "warning_under_review", "warning_closed", "needs_response",
        "under_review", "won", "lost",
    ]

    /// The names of all evidence fields.
    static let evidenceFields = [
        "access_activity_log", "billing_address", "cancellation_policy",
        "cancellation_policy_disclosure", "cancellation_rebuttal", "customer_communication",
        "customer_email_address", "customer_name", "customer_purchase_ip", "customer_signature",
        "duplicate_charge_documentation", "duplicate_charge_explanation", "duplicate_charge_id",
        "product_description", "receipt", "refund_policy", "refund_policy_disclosure",
        "refund_refusal_explanation", "service_date", "service_documentation", "shipping_address",
        "shipping_carrier", "shipping_date", "shipping_documentation", "shipping_tracking_number",
        "uncategorized_file", "uncategorized_text",
    ]

    /// The time for submitting evidence; networks give 7 to 21 days.
    private static let answerSeconds = 14 * 24 * 3600

    /// An inquiry that is not escalated ends after 120 days.
    private static let inquirySeconds = 120 * 24 * 3600

    /// Returns the deadlines of a dispute or inquiry that starts now.
    static func due(from now: Int, isInquiry: Bool) -> Due {
        Due(answer: now + answerSeconds, end: now + (isInquiry ? inquirySeconds : answerSeconds))
    }

    let id: String
    let account: String?
    let charge: String
    let paymentIntent: String?
    let amount: Int
    let currency: String
    let created: Int
    let reason: String
    /// The card brand; `nil` for other methods.
    let brand: String?
    var status: String
    var evidence: [String: String] = [:]
    var submissions = 0
    var isPastDue = false
    var due: Due
    var metadata: [String: String] = [:]
    /// The dispute's balance transactions.
    var transactions: [String] = []

    var isInquiry: Bool { status.hasPrefix("warning_") }
    var isClosed: Bool { ["won", "lost", "warning_closed"].contains(status) }

    func json(lines: [ByteBuffer]) -> ByteBuffer {
        .object { writer in
            writer.field("id", id)
            writer.field("object", "dispute")
            writer.field("amount", amount)
            writer.array("balance_transactions") { writer in
                for line in lines { writer.raw(line.readableBytesView) }
            }
            writer.field("charge", charge)
            writer.field("created", created)
            writer.field("currency", currency)
            writer.object("evidence") { writer in
                for name in Self.evidenceFields { writer.field(name, evidence[name]) }
            }
            writer.object("evidence_details") { writer in
                writer.field("due_by", isClosed ? nil : due.answer)
                writer.field("has_evidence", !evidence.isEmpty)
                writer.field("past_due", isPastDue)
                writer.field("submission_count", submissions)
            }
            writer.field("is_charge_refundable", isInquiry && !isClosed)
            writer.field("livemode", false)
            writer.field("metadata", metadata)
            writer.field("payment_intent", paymentIntent)
            if let brand {
                writer.object("payment_method_details") { writer in
                    writer.object("card") { writer in
                        writer.field("brand", brand)
                        writer.nulls("network_reason_code")
                    }
                    writer.field("type", "card")
                }
            }
            writer.field("reason", reason)
            writer.field("status", status)
        }
    }
}

extension SandboxState {
    /// `/v1/disputes`, `/v1/disputes/{id}` and `…/close`.
    mutating func routeDisputes(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        if call.method == .get, call.segments.count == 1 {
            return try disputes.list(
                call,
                by: ["charge": { $0.charge }, "payment_intent": { $0.paymentIntent }]
            ) { disputeJSON($0.id) }
        }
        let dispute = try disputes.found(call)
        let id = dispute.id
        switch (call.method, call.segments.count, call.segment(2)) {
        case (.get, 2, _): break
        case (.post, 2, _): try answerDispute(call, dispute)
        case (.post, 3, "close"):
            guard !dispute.isClosed else {
                throw APIError.invalid("This dispute is already closed.", param: "dispute")
            }
            moveDispute(id, to: "lost")
        default: throw Self.unrecognized(call)
        }
        return APIReply(body: disputeJSON(id))
    }

    func disputeJSON(_ id: String) -> ByteBuffer {
        guard let dispute = disputes[id] else { return ByteBuffer() }
        let lines = dispute.transactions.compactMap { ledger[$0]?.json(now: nowSeconds) }
        return dispute.json(lines: lines)
    }

    /// Handles `POST /v1/disputes/{id}`: submits evidence; the network decides, or a test text decides immediately.
    private mutating func answerDispute(
        _ call: APICall,
        _ found: SandboxDispute
    ) throws(APIError) {
        let form = call.form
        try form.allow(["evidence", "expand", "metadata", "submit"])
        let evidence = form.texts("evidence")
        for name in evidence.keys.sorted() where !SandboxDispute.evidenceFields.contains(name) {
            throw APIError.invalid(
                "Received unknown parameter: evidence[\(name)]",
                code: "parameter_unknown",
                param: "evidence[\(name)]"
            )
        }
        var dispute = found
        dispute.metadata = try form.updated(metadata: dispute.metadata)
        let isSubmitted = try form.flag("submit") ?? true
        guard evidence.isEmpty || !dispute.isClosed else {
            throw APIError.invalid("This dispute is already closed.", param: "evidence")
        }
        dispute.evidence.merge(evidence) { $1 }
        if isSubmitted, !evidence.isEmpty { dispute.submissions += 1 }
        disputes[dispute.id] = dispute
        guard isSubmitted, !evidence.isEmpty else { return }
        moveDispute(
            dispute.id,
            to: dispute.isInquiry ? "warning_under_review" : "under_review"
        )
        // *Source*: <https://docs.stripe.com/testing#evidence>.
        switch evidence["uncategorized_text"] {
        case "winning_evidence":
            moveDispute(dispute.id, to: dispute.isInquiry ? "warning_closed" : "won")
        case "losing_evidence":
            moveDispute(dispute.id, to: dispute.isInquiry ? "warning_closed" : "lost")
        default: break
        }
    }
}
