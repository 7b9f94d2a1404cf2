import HTTPTypes
import NIOCore

/// A Refund as the sandbox keeps it.
struct SandboxRefund {
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
    /// `pending`, `succeeded`, `failed` or `canceled`.
    var status: String

    func json() -> ByteBuffer {
        ByteBuffer(
            bytes: JSONWriter.object { writer in
                writer.field("id", id)
                writer.field("object", "refund")
                writer.field("amount", amount)
                writer.field(
                    "balance_transaction",
                    status == "succeeded" ? "txn_\(id.dropFirst(3))" : nil
                )
                writer.field("charge", charge)
                writer.field("created", created)
                writer.field("currency", currency)
                writer.field("metadata", metadata)
                writer.field("payment_intent", paymentIntent)
                writer.field("reason", reason)
                writer.nulls("receipt_number", "source_transfer_reversal")
                writer.field("status", status)
                writer.nulls("transfer_reversal")
            }
        )
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
            guard refund.status == "pending" else {
                throw APIError.invalid("Refund \(id) is \(refund.status): it cannot be canceled.")
            }
            refund.status = "canceled"
            refunds[id] = refund
            charges[refund.charge]?.refundedAmount -= refund.amount
            charges[refund.charge]?.changed()
            emit("charge.refund.updated", refund.json(), account: refund.account)
            return APIReply(body: refund.json())
        default: throw Self.unrecognized(call)
        }
    }

    /// Those of one charge or intent, if that is asked for.
    func listRefunds(_ call: APICall, charge: String?) throws(APIError) -> APIReply {
        let intent = call.form["payment_intent"]
        return try ListPage(call, kind: "refund") { refunds.number(of: $0) }
            .reply(refunds.all) { number in
                let refund = refunds[number]
                return refund.account == call.account && (charge == nil || refund.charge == charge)
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
        let left = charge.amount - charge.refundedAmount
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
        let refund = SandboxRefund(
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
            status: waitsFor == nil ? "succeeded" : "pending"
        )
        refunds[refund.id] = refund
        charge.refundedAmount += amount
        charge.changed()
        charges[charge.id] = charge
        emit("refund.created", refund.json(), account: charge.account)
        emit("charge.refunded", chargeJSON(charge.id), account: charge.account)
        if let waitsFor { requestRefundAttributes(waitsFor) }
        return refund
    }

    /// A refund that waited arrives.
    mutating func settleRefund(_ id: String) {
        guard var refund = refunds[id], refund.status == "pending" else { return }
        refund.status = "succeeded"
        refunds[id] = refund
        if let source = refund.waitsForSource, var receiver = sources[source]?.receiver {
            receiver.charged -= min(refund.amount, receiver.charged)
            receiver.returned += refund.amount
            sources[source]?.receiver = receiver
            sources[source]?.changed()
        }
        emit("charge.refund.updated", refund.json(), account: refund.account)
    }
}
