extension SandboxState {
    private static let updateParameters: Set<String> = [
        "amount", "application_fee_amount", "capture_method", "currency", "customer",
        "description", "expand", "metadata", "payment_method", "payment_method_data",
        "payment_method_options", "payment_method_types", "receipt_email", "setup_future_usage",
        "shipping", "statement_descriptor", "statement_descriptor_suffix", "transfer_data",
        "transfer_group",
    ]

    private static let createParameters = updateParameters.union([
        "automatic_payment_methods", "confirm", "confirmation_method", "error_on_requires_action",
        "mandate", "mandate_data", "off_session", "on_behalf_of", "radar_options", "return_url",
        "use_stripe_sdk",
    ])

    /// `POST /v1/payment_intents`.
    mutating func createIntent(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        let form = call.form
        try form.allow(Self.createParameters)
        guard let amount = try form.positive("amount") else { throw APIError.missing("amount") }
        let currency = try form.required("currency").lowercased()
        let mayConfirm = try form.flag("confirm") ?? false
        let isAutomatic = form["automatic_payment_methods", "enabled"] == "true"
        var types = form.list("payment_method_types")
        if types.isEmpty {
            types = form["payment_method_data", "type"].map { [$0] } ?? ["card"]
            if isAutomatic { types = ["card", "ideal", "sepa_debit"] }
        }
        for type in types where !SandboxMethod.isKnown(type) {
            throw APIError.invalid(
                "The payment method type provided: \(type) is invalid.",
                code: "payment_intent_invalid_parameter",
                param: "payment_method_types"
            )
        }
        let id = ids.make("pi_")
        var intent = SandboxIntent(
            id: id,
            account: call.account,
            clientSecret: ids.make(id + "_secret_", length: 25),
            created: nowSeconds,
            amount: amount,
            currency: currency,
            methodTypes: types,
            isAutomatic: isAutomatic,
            isManualConfirmation: form["confirmation_method"] == "manual"
        )
        try read(call, into: &intent)
        if intent.method != nil { intent.status = "requires_confirmation" }
        intents[id] = intent
        note(id, from: nil, to: intent.status)
        emit("payment_intent.created", intentJSON(id), account: intent.account)
        if mayConfirm { try confirmIntent(call, id) }
        return APIReply(body: intentJSON(id))
    }

    /// `POST /v1/payment_intents/{id}`.
    mutating func updateIntent(_ call: APICall, _ found: SandboxIntent) throws(APIError) {
        var intent = found
        try call.form.allow(Self.updateParameters)
        let isOpen = ["requires_payment_method", "requires_confirmation", "requires_action"]
            .contains(intent.status)
        if let amount = try call.form.positive("amount") {
            guard isOpen else {
                try requireStatus(
                    intent.id,
                    ["requires_payment_method", "requires_confirmation", "requires_action"],
                    doing: "change the amount of"
                )
                return
            }
            intent.amount = amount
        }
        if let currency = call.form["currency"] { intent.currency = currency.lowercased() }
        let types = call.form.list("payment_method_types")
        if !types.isEmpty { intent.methodTypes = types }
        try read(call, into: &intent)
        let previous = intent.status
        if isOpen, intent.method != nil, intent.status == "requires_payment_method" {
            intent.status = "requires_confirmation"
        }
        intent.changed()
        intents[intent.id] = intent
        if intent.status != previous { note(intent.id, from: previous, to: intent.status) }
    }

    /// Takes over the parameters that creation and update share.
    private mutating func read(
        _ call: APICall,
        into intent: inout SandboxIntent
    ) throws(APIError) {
        let form = call.form
        if let customer = form["customer"] {
            guard customers[customer]?.account == call.account, !customer.isEmpty else {
                throw APIError.noSuch("customer", customer, param: "customer", inPath: false)
            }
            intent.customer = customer
        }
        let capture = try form.choice("capture_method", ["automatic", "automatic_async", "manual"])
        if let capture { intent.isManualCapture = capture == "manual" }
        if let text = form["description"] { intent.description = text }
        if let text = form["receipt_email"] { intent.receiptEmail = text }
        if let text = form["statement_descriptor"] { intent.statementDescriptor = text }
        let usage = try form.choice("setup_future_usage", ["off_session", "on_session"])
        if let usage { intent.setupFutureUsage = usage }
        intent.metadata = try form.updated(metadata: intent.metadata)
        if let method = try method(in: call) { intent.method = method }
    }
}
