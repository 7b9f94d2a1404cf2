import NIOCore

extension SandboxState {
    /// Confirms an intent: requires an action, waits for the bank, or takes the money.
    mutating func confirmIntent(_ call: APICall, _ found: SandboxIntent) throws(APIError) {
        try found.require(SandboxIntent.open, doing: "confirm")
        let id = found.id
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
        if call.form.isOffSession, case .redirect = method.asks(offSession: true) {
            fail(\.intents, id, .authenticationRequired, isCharged: false)
            throw APIError.declined(
                .authenticationRequired,
                of: (SandboxIntent.parameter, json(\.intents, id)),
                paymentMethod: method.json()
            )
        }
        try confirm(\.intents, intent, with: method, call)
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

    /// Returns the action that a method requires of the customer; `nil` when it requires none.
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
}

extension SandboxState {
    /// Adds a received bank transfer to a waiting intent.
    mutating func fundIntent(_ id: String, amount: Int) {
        guard let intent = intents[id], intent.status == "requires_action",
            case .bankTransfer = intent.nextAction
        else { return }
        intents[id]?.fundedAmount += amount
        intents[id]?.changed()
        if intent.fundedAmount + amount >= intent.amount {
            authorise(\.intents, id)
        } else {
            emit("payment_intent.partially_funded", json(\.intents, id), account: intent.account)
        }
    }

    /// Adds a received bank transfer to the oldest waiting intent of a customer.
    ///
    /// - Returns: The intent's ID; `nil` when no intent is waiting.
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

    /// Creates the charge of an attempt, including a failed one.
    fileprivate mutating func makeCharge(
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
        recordCapture(of: charge.id)
        emit("charge.\(status)", chargeJSON(charge.id), account: intent.account)
    }
}

extension SandboxIntent {
    /// Authorises, captures or releases the money, as the status requires.
    func applyStatusChange(from previous: String, in state: inout SandboxState) {
        switch status {
        case "processing", "requires_capture":
            state.makeCharge(for: id, status: status == "processing" ? "pending" : "succeeded")
        case "succeeded":
            if previous == "requires_capture", let charge = latestCharge {
                // A request or the expiry of the hold may have captured it already.
                if state.charges[charge]?.isHeld == true {
                    try? state.capture(charge, amount: nil)
                }
                state.intents[id]?.receivedAmount = state.charges[charge]?.taken ?? 0
            } else if previous == "processing", let charge = latestCharge {
                state.settleCharge(charge, succeeds: true)
            } else {
                state.makeCharge(for: id, status: "succeeded")
            }
            if receivedAmount == 0 { state.intents[id]?.receivedAmount = amount }
            state.intents[id]?.changed()
        case "canceled":
            let now = state.nowSeconds
            state.intents[id]?.canceledAt = now
            if previous == "requires_capture", let charge = latestCharge {
                state.releaseHold(charge)
            }
        default: break
        }
    }

    func proceed(with method: SandboxMethod, in state: inout SandboxState) {
        if case .declined(let failure) = method.outcome {
            return state.fail(\.intents, id, failure)
        }
        state.recordUse(
            of: method,
            by: customer,
            isSetUp: setupFutureUsage.map { $0 == "off_session" }
        )
        if method.isAsynchronous {
            state.settle(\.intents, id, to: "processing")
            if case .staysPending = method.outcome { return }
            state.scheduleAutomatic(.settleIntent(id))
        } else {
            state.settle(\.intents, id, to: isManualCapture ? "requires_capture" : "succeeded")
        }
    }

    func failCharge(_ failure: PaymentFailure, in state: inout SandboxState) {
        if status == "processing", let charge = latestCharge {
            state.settleCharge(charge, succeeds: false)
        } else {
            state.makeCharge(for: id, status: "failed", failure: failure)
        }
    }
}
