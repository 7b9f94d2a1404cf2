extension SandboxState {
    /// Moves an intent to a status, records and announces it, and makes or settles the charge that belongs to it.
    mutating func settleIntent(_ id: String, to status: String) {
        guard let intent = intents[id], intent.status != status else { return }
        intents[id]?.status = status
        switch status {
        case "canceled":
            let now = nowSeconds
            intents[id]?.canceledAt = now
        case "succeeded", "processing", "requires_capture":
            intents[id]?.lastError = nil
            if intents[id]?.latestCharge == nil {
                makeCharge(for: id, status: status == "processing" ? "pending" : "succeeded")
            } else if status == "succeeded", let charge = intents[id]?.latestCharge {
                charges[charge]?.isCaptured = true
                charges[charge]?.changed()
                settleCharge(charge, succeeds: true)
            }
        default: break
        }
        intents[id]?.changed()
        note(id, from: intent.status, to: status)
        if let type = Self.eventType(of: status) { emit(type, intentJSON(id)) }
    }

    /// The customer authorised, or nobody had to be asked.
    mutating func authoriseIntent(_ id: String) {
        guard let intent = intents[id], let method = intent.method else { return }
        intents[id]?.redirect?.status = "succeeded"
        if SandboxMethod.asynchronousTypes.contains(method.type) {
            settleIntent(id, to: "processing")
            actions.append(.settleLater(.intent(id)))
        } else {
            settleIntent(id, to: intent.isManualCapture ? "requires_capture" : "succeeded")
        }
    }

    /// A try failed: back to `requires_payment_method`, with the reason.
    mutating func failIntent(_ id: String, code: String, _ message: String) {
        guard let intent = intents[id] else { return }
        intents[id]?.latestCharge = nil
        makeCharge(for: id, status: "failed", failure: (code, message))
        let charge = intents[id]?.latestCharge
        intents[id]?.lastError = SandboxPaymentError(
            type: intent.method?.type == "card" ? "card_error" : "invalid_request_error",
            code: code,
            declineCode: code == "card_declined" ? "generic_decline" : nil,
            message: message,
            charge: charge
        )
        intents[id]?.redirect?.status = "failed"
        intents[id]?.method = nil
        intents[id]?.status = "requires_payment_method"
        intents[id]?.changed()
        note(id, from: intent.status, to: "requires_payment_method")
        emit("payment_intent.payment_failed", intentJSON(id))
    }

    private mutating func makeCharge(
        for id: String,
        status: String,
        failure: (code: String, message: String)? = nil
    ) {
        guard let intent = intents[id] else { return }
        let charge = ids.make("ch_")
        charges[charge] = SandboxCharge(
            id: charge,
            amount: intent.amount,
            currency: intent.currency,
            created: nowSeconds,
            methodType: intent.method?.type ?? "card",
            status: status,
            isCaptured: !intent.isManualCapture,
            paymentIntent: id,
            customer: intent.customer,
            description: intent.description,
            metadata: intent.metadata
        )
        charges[charge]?.failureCode = failure?.code
        charges[charge]?.failureMessage = failure?.message
        chargeOrder.append(charge)
        intents[id]?.latestCharge = charge
        emit("charge.\(status)", chargeJSON(charge))
    }

    /// There is no event for `requires_confirmation`, and `requires_payment_method` follows a failure.
    private static func eventType(of status: String) -> String? {
        switch status {
        case "requires_action", "processing", "succeeded", "canceled": "payment_intent.\(status)"
        case "requires_capture": "payment_intent.amount_capturable_updated"
        case "requires_payment_method": "payment_intent.payment_failed"
        default: nil
        }
    }
}
