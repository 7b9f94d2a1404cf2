import NIOCore

extension SandboxState {
    /// Confirms an intent: the customer is asked, the bank is asked, or the money is there.
    mutating func confirmIntent(_ call: APICall, _ id: String) throws(APIError) {
        try requireStatus(
            id,
            ["requires_payment_method", "requires_confirmation", "requires_action"],
            doing: "confirm"
        )
        if let method = try method(in: call) { intents[id]?.method = method }
        guard let intent = intents[id] else { return }
        guard let method = intent.method else {
            throw APIError.invalid(
                "You cannot confirm this PaymentIntent because it's missing a payment method. "
                    + "You can either update the PaymentIntent with a payment method and then "
                    + "confirm it again, or confirm it again directly with a payment method.",
                code: "payment_intent_unexpected_state",
                param: "payment_method"
            )
        }
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
                paymentIntent: Array(intentJSON(id).readableBytesView)
            )
        } else {
            authoriseIntent(id)
        }
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
        switch method.asks {
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

    private mutating func ask(_ id: String, for action: SandboxNextAction) {
        let endMs = action.lifeMs.map { nowMs + $0 }
        intents[id]?.ask(for: action, endMs: endMs)
        if let endMs { timers.set(.expireIntent(id), atMs: endMs) }
        settleIntent(id, to: "requires_action")
    }

    /// The method given by id or by `payment_method_data`, if any.
    mutating func method(in call: APICall) throws(APIError) -> SandboxMethod? {
        let form = call.form
        if form["payment_method_data", "type"] != nil {
            var method = try SandboxMethod(
                id: ids.make("pm_"),
                account: call.account,
                form,
                ["payment_method_data"]
            )
            method.created = nowSeconds
            methods[method.id] = method
            return method
        }
        guard let name = form["payment_method"], !name.isEmpty else { return nil }
        if let method = methods[name], method.account == call.account { return method }
        if let source = sources[name], source.account == call.account,
            let method = SandboxMethod(source)
        {
            return method
        }
        guard let method = SandboxMethod(testName: name) else {
            throw APIError.noSuch("PaymentMethod", name, param: "payment_method", inPath: false)
        }
        return method
    }
}
