import HTTPTypes
import JSONText
import NIOCore

extension SandboxState {
    /// `/v1/charges`, `/v1/charges/{id}`, `…/capture`, `…/refund` and `…/refunds`.
    mutating func routeCharges(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        switch (call.method, call.segments.count) {
        case (.post, 1): return try createCharge(call)
        case (.get, 1): return try listCharges(call)
        case (.get, 2) where call.segment(1) == "search":
            return try charges.search(call) { $0.json() }
        default: break
        }
        let charge = try charges.found(call)
        let id = charge.id
        switch (call.method, call.segments.count, call.segment(2)) {
        case (.get, 2, _):
            let expanded = call.form.list("expand")
            let line =
                expanded.contains("balance_transaction") ? ledger[charge.balanceTransaction] : nil
            if let line {
                let list =
                    expanded.contains("refunds") ? charge.refunds.compactMap { refunds[$0] } : nil
                return APIReply(
                    body: charge.render(refunds: list, line: line.json(now: nowSeconds))
                )
            }
            return APIReply(body: chargeJSON(id, withRefunds: expanded.contains("refunds")))
        case (.post, 2, _): return try updateCharge(call, charge)
        case (.post, 3, "capture"): return try captureCharge(call, charge)
        case (.post, 3, "refund"), (.post, 3, "refunds"):
            _ = try refund(call, charge)
            return APIReply(body: chargeJSON(id))
        case (.get, 3, "refunds"): return try listRefunds(call, charge: id)
        default: throw Self.unrecognized(call)
        }
    }

    mutating func chargeJSON(_ id: String) -> ByteBuffer {
        charges[id]?.json() ?? ByteBuffer()
    }

    /// Returns the JSON, with refunds if requested.
    mutating func chargeJSON(_ id: String, withRefunds: Bool) -> ByteBuffer {
        guard withRefunds, let charge = charges[id] else { return chargeJSON(id) }
        return ByteBuffer(bytes: charge.render(refunds: charge.refunds.compactMap { refunds[$0] }))
    }

    private func listCharges(_ call: APICall) throws(APIError) -> APIReply {
        let refunds =
            call.form.list("expand").contains("data.refunds") ? self.refunds : nil
        return try charges.list(
            call,
            by: [
                "customer": { $0.customer }, "payment_intent": { $0.paymentIntent },
                "transfer_group": { $0.sharing.group },
            ],
            isStrict: false
        ) { charge in
            guard let refunds else { return charge.json() }
            let its = charge.refunds.compactMap { refunds[$0] }
            return ByteBuffer(bytes: charge.render(refunds: its))
        }
    }

    private mutating func updateCharge(
        _ call: APICall,
        _ found: SandboxCharge
    ) throws(APIError) -> APIReply {
        try call.form.allow([
            "customer", "description", "expand", "fraud_details", "metadata", "receipt_email",
            "shipping", "transfer_group",
        ])
        let (before, wasDescribed) = (found.metadata, found.description)
        var charge = found
        charge.metadata = try call.form.updated(metadata: before)
        if let text = call.form["description"] { charge.description = text.isEmpty ? nil : text }
        charge.changed()
        charges[charge.id] = charge
        emit(
            "charge.updated",
            chargeJSON(charge.id),
            account: charge.account,
            previous: JSONWriter.object { writer in
                if before != charge.metadata { writer.field("metadata", before) }
                if wasDescribed != charge.description { writer.field("description", wasDescribed) }
            }
        )
        return APIReply(body: chargeJSON(charge.id))
    }

    private mutating func captureCharge(
        _ call: APICall,
        _ charge: SandboxCharge
    ) throws(APIError) -> APIReply {
        try call.form.allow([
            "amount", "application_fee", "application_fee_amount", "expand", "receipt_email",
            "statement_descriptor", "statement_descriptor_suffix", "transfer_data",
            "transfer_group",
        ])
        guard charge.isHeld else {
            throw APIError.invalid(
                charge.isCaptured
                    ? "Charge \(charge.id) has already been captured."
                    : "Charge \(charge.id) has expired or was refunded and cannot be captured.",
                code: charge.isCaptured ? "charge_already_captured" : "charge_expired_for_capture"
            )
        }
        try capture(charge.id, amount: try call.form.positive("amount"))
        return APIReply(body: chargeJSON(charge.id))
    }

    /// Applies the bank's decision on a charge, and on its intent.
    mutating func decideCharge(_ id: String, succeeds: Bool) {
        guard let charge = charges[id] else { return }
        if charge.status == "succeeded", !succeeds { return bounceCharge(id) }
        guard let intent = charge.paymentIntent, intents[intent]?.status == "processing",
            intents[intent]?.latestCharge == id
        else { return settleCharge(id, succeeds: succeeds) }
        if succeeds {
            settle(\.intents, intent, to: "succeeded")
        } else {
            fail(\.intents, intent, .bankDeclined)
        }
    }

    /// Settles a pending charge.
    mutating func settleCharge(_ id: String, succeeds: Bool) {
        guard var charge = charges[id], charge.status == "pending" else { return }
        charge.status = succeeds ? "succeeded" : "failed"
        let sourceID = charge.source?.id
        if !succeeds {
            charge.failure = .bankDeclined
            if case .failsLater(let failure) = charge.outcome { charge.failure = failure }
        }
        charge.changed()
        charges[id] = charge
        recordStatus(id, from: "pending", to: charge.status)
        recordCapture(of: id)
        emit("charge.\(charge.status)", chargeJSON(id), account: charge.account)
        // A failed debit ends its mandate.
        if !succeeds, let sourceID, sources[sourceID]?.type == "sepa_debit",
            sources[sourceID]?.status == "chargeable"
        {
            settleSource(sourceID, to: "failed")
        }
    }
}
