import NIOCore

extension SandboxState {
    /// Confirms an intent: the customer is asked, the bank is asked, or the money is there.
    mutating func confirmIntent(_ call: APICall, _ id: String) throws(APIError) {
        try requireStatus(
            id,
            ["requires_payment_method", "requires_confirmation", "requires_action"],
            doing: "confirm"
        )
        guard let found = intents[id] else { return }
        if let method = try method(in: call, for: found) { intents[id]?.method = method }
        let usage = try call.form.choice("setup_future_usage", ["off_session", "on_session"])
        if let usage { intents[id]?.setupFutureUsage = usage }
        let capture = try call.form.choice(
            "capture_method",
            ["automatic", "automatic_async", "manual"]
        )
        if let capture { intents[id]?.isManualCapture = capture == "manual" }
        if let text = call.form["receipt_email"] { intents[id]?.receiptEmail = text }
        guard let intent = intents[id] else { return }
        guard let method = currentMethod(of: intent) ?? defaultMethod(of: intent.customer) else {
            throw Self.missingMethod(of: intent)
        }
        try requireUsable(method, for: intent)
        intents[id]?.method = method
        guard intent.isAutomatic || intent.methodTypes.contains(method.type) else {
            throw APIError.invalid(
                "The PaymentMethod provided (\(method.type)) is not allowed for this "
                    + "PaymentIntent. Please attach one of the following types: "
                    + intent.methodTypes.joined(separator: ", ") + ".",
                code: "payment_intent_incompatible_payment_method",
                param: "payment_method"
            )
        }
        if method.type == "customer_balance", intent.customer == nil {
            throw APIError.missing("customer")
        }
        if case .refused(let failure) = method.outcome {
            throw APIError.invalid(failure.message, code: failure.code)
        }
        let secret = intent.clientSecret
        if call.form.isOffSession, case .redirect = method.asks(offSession: true) {
            failIntent(id, .authenticationRequired, isCharged: false)
            throw APIError.declined(
                .authenticationRequired,
                paymentIntent: Array(intentJSON(id).readableBytesView),
                paymentMethod: method.json()
            )
        }
        if let action = try nextAction(of: method, for: id, secret: secret, call) {
            if try call.form.flag("error_on_requires_action") == true {
                failIntent(id, Self.actionRequired)
                throw APIError.declined(
                    Self.actionRequired,
                    paymentIntent: Array(intentJSON(id).readableBytesView)
                )
            }
            ask(id, for: action)
        } else if case .declined(let failure) = method.outcome {
            failIntent(id, failure)
            throw APIError.declined(
                failure,
                charge: intents[id]?.latestCharge,
                paymentIntent: Array(intentJSON(id).readableBytesView),
                paymentMethod: method.json()
            )
        } else {
            authoriseIntent(id)
        }
    }

    private static func missingMethod(of intent: SandboxIntent) -> APIError {
        let advice =
            intent.customer.map {
                "To confirm the PaymentIntent with \($0), specify a payment method attached to this "
                    + "customer along with the customer ID."
            }
            ?? "You can either update the PaymentIntent with a payment method and then confirm it "
            + "again, or confirm it again directly with a payment method or ConfirmationToken."
        return .invalid(
            "You cannot confirm this PaymentIntent because it's missing a payment method. "
                + advice,
            code: "payment_intent_unexpected_state",
            param: "payment_method"
        )
    }

    private static let actionRequired = PaymentFailure(
        code: "card_declined",
        declineCode: "authentication_required",
        message: "Your card was declined. This transaction requires authentication."
    )

    /// What a method asks of the customer; nil when it can go on without.
    func nextAction(
        of method: SandboxMethod,
        for id: String,
        secret: String,
        _ call: APICall
    ) throws(APIError) -> SandboxNextAction? {
        func page(_ name: String) -> String { "\(call.base)/\(name)/\(id)?client_secret=\(secret)" }
        switch method.asks(offSession: call.form.isOffSession) {
        case .nothing: return nil
        case .redirect:
            let returnURL = try call.form.required("return_url")
            try SourceRequest.requireURL(returnURL, param: "return_url")
            return .redirect(SandboxRedirect(url: page("redirect"), returnURL: returnURL))
        case .bankTransfer: return .bankTransfer(pageURL: page("pay"))
        case .scan: return .scan(pageURL: page("redirect"))
        case .microdeposits:
            return .microdeposits(pageURL: page("verify"), arrival: nowSeconds + 2 * 24 * 3600)
        }
    }

    /// Waits for the customer, as long as the action lives.
    private mutating func ask(_ id: String, for action: SandboxNextAction) {
        let endMs = action.lifeMs.map { nowMs + $0 }
        intents[id]?.ask(for: action, endMs: endMs)
        if let endMs { timers.set(.expireIntent(id), atMs: endMs) }
        settleIntent(id, to: "requires_action")
    }
}

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

    /// Money follows the status: reserved, taken, pending or released.
    private mutating func settleCharge(of id: String, from previous: String, to status: String) {
        guard let intent = intents[id] else { return }
        switch status {
        case "processing", "requires_capture":
            makeCharge(for: id, status: status == "processing" ? "pending" : "succeeded")
        case "succeeded":
            if previous == "requires_capture", let charge = intent.latestCharge {
                // It is captured already, where a request or the end of the hold did so.
                if charges[charge]?.isHeld == true { try? capture(charge, amount: nil) }
                intents[id]?.receivedAmount = charges[charge]?.taken ?? 0
            } else if previous == "processing", let charge = intent.latestCharge {
                settleCharge(charge, succeeds: true)
            } else {
                makeCharge(for: id, status: "succeeded")
            }
            if intent.receivedAmount == 0 { intents[id]?.receivedAmount = intent.amount }
            intents[id]?.changed()
        case "canceled":
            if previous == "requires_capture", let charge = intent.latestCharge {
                releaseHold(charge)
            }
        default: break
        }
    }

    /// The customer authorised, or nobody had to be asked.
    mutating func authoriseIntent(_ id: String) {
        guard let intent = intents[id], let method = intent.method else { return }
        if case .declined(let failure) = method.outcome { return failIntent(id, failure) }
        intents[id]?.lastRedirect?.status = "succeeded"
        used(
            method,
            by: intent.customer,
            isSetUp: intent.setupFutureUsage.map { $0 == "off_session" }
        )
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

    /// Money arrives for a customer: for the oldest intent of theirs that waits for a bank transfer.
    ///
    /// - Returns: The intent; nil when none waits.
    mutating func fundCustomer(_ customer: String, amount: Int, currency: String?) -> String? {
        let waiting = intents.all.first { number in
            let intent = intents[number]
            guard case .bankTransfer = intent.nextAction else { return false }
            return intent.customer == customer && intent.status == "requires_action"
                && (currency == nil || intent.currency == currency)
        }
        guard let id = waiting.map({ intents[$0].id }) else { return nil }
        fundIntent(id, amount: amount)
        return id
    }

    /// A try failed: back to `requires_payment_method`, with the reason.
    ///
    /// A try that was not sent to the bank has no charge (`isCharged`).
    mutating func failIntent(_ id: String, _ failure: PaymentFailure, isCharged: Bool = true) {
        guard let intent = intents[id] else { return }
        if intent.status == "processing", let charge = intent.latestCharge {
            settleCharge(charge, succeeds: false)
        } else if isCharged {
            makeCharge(for: id, status: "failed", failure: failure)
        }
        let charge = isCharged ? intents[id]?.latestCharge : nil
        let method = currentMethod(of: intent)?.json()
        intents[id]?.lastError = SandboxPaymentError(
            failure: failure,
            methodType: intent.method?.type ?? "card",
            charge: charge,
            method: method
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

    /// The charge of a try, also of one that has failed.
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
        charge.billing = intent.method?.billing ?? BillingDetails()
        charge.metadata = intent.metadata
        charge.failure = failure
        charge.sharing = intent.sharing
        charge.presentment = intent.presentment
        charge.outcome = intent.method?.outcome ?? .succeeds
        hold(&charge, mayBeCapturedAgain: intent.mayBeCapturedAgain)
        charges[charge.id] = charge
        intents[id]?.latestCharge = charge.id
        intents[id]?.changed()
        moneyTaken(by: charge.id)
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
