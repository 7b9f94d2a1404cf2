import HTTPTypes
import NIOCore

extension SandboxState {
    private static let createIntentParameters: Set<String> = [
        "amount", "application_fee_amount", "automatic_payment_methods", "capture_method",
        "confirm", "confirmation_method", "currency", "customer", "description", "expand",
        "mandate", "mandate_data", "metadata", "off_session", "on_behalf_of", "payment_method",
        "payment_method_data", "payment_method_options", "payment_method_types",
        "radar_options", "receipt_email", "return_url", "setup_future_usage", "shipping",
        "statement_descriptor", "statement_descriptor_suffix", "transfer_data",
        "transfer_group", "use_stripe_sdk",
    ]

    /// `POST` and `GET /v1/payment_intents`, `…/{id}`, `…/{id}/confirm`, `…/{id}/cancel`, `…/{id}/capture`.
    mutating func routeIntents(_ call: APICall) throws(APIError) -> APIReply {
        switch (call.method, call.segments.count) {
        case (.post, 1): return try createIntent(call)
        case (.get, 1): return try listIntents(call)
        case (.get, 2):
            let id = String(call.segments[1])
            guard let intent = intents[id] else { throw APIError.noSuch("payment_intent", id) }
            try Self.requireClientSecret(intent.clientSecret, call, kind: "PaymentIntent")
            return reply(call, id)
        case (.post, 3):
            let id = String(call.segments[1])
            guard let intent = intents[id] else { throw APIError.noSuch("payment_intent", id) }
            switch call.segments[2] {
            case "confirm":
                try Self.requireClientSecret(intent.clientSecret, call, kind: "PaymentIntent")
                return try confirmIntent(call, id)
            case "cancel":
                try Self.requireSecretKey(call)
                return try cancelIntent(call, id)
            case "capture":
                try Self.requireSecretKey(call)
                try requireStatus(id, ["requires_capture"], doing: "capture")
                settleIntent(id, to: "succeeded")
                return reply(call, id)
            default: throw Self.unrecognized(call)
            }
        default:
            throw Self.unrecognized(call)
        }
    }

    mutating func intentJSON(_ id: String) -> ByteBuffer {
        intents[id]?.json() ?? ByteBuffer()
    }

    private mutating func reply(_ call: APICall, _ id: String) -> APIReply {
        if call.key.isPublishable, let intent = intents[id] {
            return APIReply(body: intent.render(withMetadata: false))
        }
        return APIReply(body: intentJSON(id))
    }

    private func listIntents(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        let order = intentOrder
        return try Self.page(
            call,
            kind: "payment_intent",
            numbers: 0..<order.count,
            number: { order.firstIndex(of: $0) },
            json: { intents[order[$0]]?.render(withMetadata: true) ?? [] }
        )
    }

    private mutating func createIntent(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        let form = call.form
        try form.allow(Self.createIntentParameters)
        guard let amount = try form.positive("amount") else { throw APIError.missing("amount") }
        let currency = try form.required("currency").lowercased()
        let mayConfirm = try form.flag("confirm") ?? false
        let id = ids.make("pi_")
        var types = form.list("payment_method_types")
        if types.isEmpty {
            types = form["payment_method_data", "type"].map { [$0] } ?? ["card"]
        }
        let intent = SandboxIntent(
            id: id,
            clientSecret: ids.make(id + "_secret_", length: 25),
            created: nowSeconds,
            amount: amount,
            currency: currency,
            methodTypes: types,
            isManualCapture: form["capture_method"] == "manual",
            description: form["description"],
            customer: form["customer"],
            metadata: form.texts("metadata")
        )
        let method = try method(in: form)
        intents[id] = intent
        intentOrder.append(id)
        if let method {
            intents[id]?.method = method
            intents[id]?.status = "requires_confirmation"
        }
        intents[id]?.changed()
        note(id, from: nil, to: intents[id]?.status ?? "")
        emit("payment_intent.created", intentJSON(id))
        return mayConfirm ? try confirmIntent(call, id) : reply(call, id)
    }

    private mutating func confirmIntent(_ call: APICall, _ id: String) throws(APIError) -> APIReply
    {
        try requireStatus(
            id,
            ["requires_payment_method", "requires_confirmation", "requires_action"],
            doing: "confirm"
        )
        if let method = try method(in: call.form) { intents[id]?.method = method }
        guard let method = intents[id]?.method else {
            throw APIError.invalid(
                "You cannot confirm this PaymentIntent because it's missing a payment method. "
                    + "You can either update the PaymentIntent with a payment method and then "
                    + "confirm it again, or confirm it again directly with a payment method.",
                code: "payment_intent_unexpected_state",
                param: "payment_method"
            )
        }
        if method.needsRedirect {
            let returnURL = try call.form.required("return_url")
            try Self.requireURL(returnURL, param: "return_url")
            let secret = intents[id]?.clientSecret ?? ""
            intents[id]?.redirect = SandboxRedirect(
                url: "\(call.base)/redirect/\(id)?client_secret=\(secret)",
                returnURL: returnURL
            )
            settleIntent(id, to: "requires_action")
        } else if method.isDeclined {
            failIntent(id, code: "card_declined", "Your card was declined.")
            throw APIError(
                status: 402,
                type: "card_error",
                message: "Your card was declined.",
                code: "card_declined",
                declineCode: "generic_decline",
                charge: intents[id]?.latestCharge,
                paymentIntent: Array(intentJSON(id).readableBytesView)
            )
        } else {
            authoriseIntent(id)
        }
        return reply(call, id)
    }

    private mutating func cancelIntent(_ call: APICall, _ id: String) throws(APIError) -> APIReply {
        try requireStatus(
            id,
            [
                "requires_payment_method", "requires_capture", "requires_confirmation",
                "requires_action",
            ],
            doing: "cancel"
        )
        intents[id]?.cancellationReason = call.form["cancellation_reason"]
        settleIntent(id, to: "canceled")
        return reply(call, id)
    }

    private func requireStatus(
        _ id: String,
        _ allowed: [String],
        doing verb: String
    ) throws(APIError) {
        let status = intents[id]?.status ?? ""
        guard allowed.contains(status) else {
            throw APIError.invalid(
                "You cannot \(verb) this PaymentIntent because it has a status of \(status).",
                code: "payment_intent_unexpected_state"
            )
        }
    }

    /// The method given by id or by `payment_method_data`, if any.
    private mutating func method(in form: Form) throws(APIError) -> SandboxMethod? {
        if let type = form["payment_method_data", "type"] {
            let method = SandboxMethod(id: ids.make("pm_"), type: type)
            methods[method.id] = method
            return method
        }
        guard let name = form["payment_method"] else { return nil }
        guard let method = methods[name] ?? SandboxMethod(testName: name) else {
            throw APIError.noSuch("PaymentMethod", name, param: "payment_method", inPath: false)
        }
        return method
    }
}
