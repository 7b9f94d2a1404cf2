extension SandboxState {
    /// Moves an intent to a status, records and announces it, and makes or settles the charge that belongs to it.
    mutating func settleIntent(_ id: String, to status: String) {
        guard var intent = intents[id], intent.status != status else { return }
        let previous = intent.status
        intent.status = status
        switch status {
        case "canceled":
            intent.canceledAt = nowSeconds
        case "succeeded", "processing", "requires_capture":
            intent.lastError = nil
        default: break
        }
        if status != "requires_action" { intent.actionEndMs = nil }
        intent.changed()
        intents[id] = intent
        settleCharge(of: id, from: previous, to: status)
        note(id, from: previous, to: status)
        if let type = Self.eventType(of: status) {
            emit(type, intentJSON(id), account: intent.account)
        }
    }

    private mutating func settleCharge(of id: String, from previous: String, to status: String) {
        guard let intent = intents[id] else { return }
        switch status {
        case "processing", "requires_capture":
            makeCharge(for: id, status: status == "processing" ? "pending" : "succeeded")
        case "succeeded":
            if previous == "requires_capture", let charge = intent.latestCharge {
                let amount = intent.receivedAmount > 0 ? intent.receivedAmount : nil
                // The amount was checked before; nothing else can be wrong with it.
                try? capture(charge, amount: amount)
            } else if previous == "processing", let charge = intent.latestCharge {
                settleCharge(charge, succeeds: true)
            } else {
                makeCharge(for: id, status: "succeeded")
            }
            if intent.receivedAmount == 0 { intents[id]?.receivedAmount = intent.amount }
            intents[id]?.changed()
        case "canceled":
            // Reserved money is released.
            if previous == "requires_capture", let charge = intent.latestCharge {
                charges[charge]?.refundedAmount = intent.amount
                charges[charge]?.changed()
                emit("charge.refunded", chargeJSON(charge), account: intent.account)
            }
        default: break
        }
    }

    /// The customer authorised, or nobody had to be asked.
    mutating func authoriseIntent(_ id: String) {
        guard let intent = intents[id], let method = intent.method else { return }
        if case .declined(let failure) = method.outcome { return failIntent(id, failure) }
        intents[id]?.lastRedirect?.status = "succeeded"
        if method.isAsynchronous {
            settleIntent(id, to: "processing")
            if case .staysPending = method.outcome { return }
            soon(.settleIntent(id))
        } else {
            settleIntent(id, to: intent.isManualCapture ? "requires_capture" : "succeeded")
        }
    }

    /// The bank answers.
    mutating func settleProcessingIntent(_ id: String) {
        guard let intent = intents[id], intent.status == "processing" else { return }
        if case .failsLater(let failure) = intent.method?.outcome {
            failIntent(id, failure)
        } else {
            settleIntent(id, to: "succeeded")
        }
    }

    /// The customer took too long.
    mutating func expireIntent(_ id: String) {
        guard let endMs = intents[id]?.actionEndMs, endMs <= nowMs else { return }
        failIntent(
            id,
            PaymentFailure(
                code: "payment_intent_payment_attempt_expired",
                message: "The latest attempt to confirm the payment has expired."
            )
        )
    }

    /// Money arrives for an intent that waits for a bank transfer.
    mutating func fundIntent(_ id: String, amount: Int) {
        guard let intent = intents[id], intent.status == "requires_action",
            case .bankTransfer = intent.nextAction
        else { return }
        intents[id]?.fundedAmount += amount
        intents[id]?.changed()
        if intent.fundedAmount + amount >= intent.amount {
            authoriseIntent(id)
        } else {
            emit("payment_intent.partially_funded", intentJSON(id), account: intent.account)
        }
    }

    /// A try failed: back to `requires_payment_method`, with the reason.
    mutating func failIntent(_ id: String, _ failure: PaymentFailure) {
        guard let intent = intents[id] else { return }
        if intent.status == "processing", let charge = intent.latestCharge {
            settleCharge(charge, succeeds: false)
        } else {
            makeCharge(for: id, status: "failed", failure: failure)
        }
        let charge = intents[id]?.latestCharge
        intents[id]?.lastError = SandboxPaymentError(
            failure: failure,
            methodType: intent.method?.type ?? "card",
            charge: charge
        )
        intents[id]?.lastRedirect?.status = "failed"
        intents[id]?.method = nil
        intents[id]?.nextAction = nil
        intents[id]?.actionEndMs = nil
        intents[id]?.status = "requires_payment_method"
        intents[id]?.changed()
        note(id, from: intent.status, to: "requires_payment_method")
        emit("payment_intent.payment_failed", intentJSON(id), account: intent.account)
    }

    private mutating func makeCharge(
        for id: String,
        status: String,
        failure: PaymentFailure? = nil
    ) {
        guard let intent = intents[id] else { return }
        var charge = SandboxCharge(
            id: ids.make(intent.method?.type == "card" ? "ch_" : "py_"),
            account: intent.account,
            amount: intent.amount,
            currency: intent.currency,
            created: nowSeconds,
            methodType: intent.method?.type ?? "card",
            status: status
        )
        charge.isCaptured = intent.status != "requires_capture"
        charge.paymentIntent = id
        charge.paymentMethod = intent.method?.id
        charge.customer = intent.customer
        charge.description = intent.description
        charge.statementDescriptor = intent.statementDescriptor
        charge.card = intent.method?.card
        charge.ownerName = intent.method?.name
        charge.ownerEmail = intent.method?.email
        charge.metadata = intent.metadata
        charge.failure = failure
        charges[charge.id] = charge
        intents[id]?.latestCharge = charge.id
        intents[id]?.changed()
        emit("charge.\(status)", chargeJSON(charge.id), account: intent.account)
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
