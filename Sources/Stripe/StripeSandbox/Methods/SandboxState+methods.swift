import HTTPTypes
import JSONText
import NIOCore

extension SandboxState {
    private static let methodParameters: Set<String> = [
        "allow_redisplay", "billing_details", "expand", "metadata", "radar_options", "type",
    ]
    /// Parameters that Stripe's own clients add.
    static let telemetry: Set<String> = [
        "client_attribution_metadata", "guid", "muid", "pasted_fields", "payment_user_agent",
        "referrer", "sid", "time_on_page", "_stripe_account", "key",
    ]
    /// The parameters of a confirmation of either kind of intent.
    static let confirmParameters = telemetry.union([
        "client_secret", "expand", "mandate_data", "payment_method", "payment_method_data",
        "payment_method_options", "return_url", "use_stripe_sdk",
    ])

    /// `/v1/payment_methods`, `…/{id}` and its `attach` and `detach`.
    mutating func routeMethods(_ call: APICall) throws(APIError) -> APIReply {
        if call.method == .post, call.segments.count == 1 {
            let type = call.form["type"] ?? ""
            if type.isEmpty, call.form.has("payment_method") { return try cloneMethod(call) }
            try call.form.allow(Self.methodParameters.union(Self.telemetry).union([type]))
            let method = try SandboxMethod(
                id: ids.make("pm_"),
                account: call.account,
                created: nowSeconds,
                call.form,
                []
            )
            methods[method.id] = method
            return APIReply(body: methodJSON(method, call))
        }
        try Self.requireSecretKey(call)
        if call.method == .get, call.segments.count == 1 {
            try call.form.allow(Self.methodFilters.union(["customer"]))
            return try listMethods(call, of: call.form["customer"])
        }
        guard call.segments.count > 1 else { throw Self.unrecognized(call) }
        let id = call.segment(1)
        guard let method = resolveMethod(id, call.account) else {
            throw APIError.noSuch("PaymentMethod", id, param: "payment_method")
        }
        switch (call.method, call.segments.count, call.segment(2)) {
        case (.get, 2, _): return APIReply(body: methodJSON(method, call))
        case (.post, 2, _): return try updateMethod(call, method)
        case (.post, 3, "attach"):
            try call.form.allow(["customer", "expand"])
            let customer = try call.form.required("customer")
            try attach(method, to: customer, call)
            return APIReply(body: methodJSON(methods[method.id] ?? method, call))
        case (.post, 3, "detach"): return try detachMethod(call, method)
        default: throw Self.unrecognized(call)
        }
    }

    /// Renders a method, with its customer if requested.
    func methodJSON(_ method: SandboxMethod, _ call: APICall) -> ByteBuffer {
        let isExpanded = call.form.list("expand").contains {
            ["customer", "data.customer"].contains($0)
        }
        let customer = isExpanded ? method.customer.flatMap { customers[$0]?.json() } : nil
        return method.json(customer: customer)
    }

    /// Returns the method with this ID: a PaymentMethod, a card or Source used as one, or a new one for a name of
    /// Stripe's test data; `nil` for an unknown ID.
    mutating func resolveMethod(_ id: String, _ account: String?) -> SandboxMethod? {
        if let method = methods[id] { return method.account == account ? method : nil }
        if let source = sources[id], source.account == account { return SandboxMethod(source) }
        let made = SandboxMethod(
            testName: id,
            id: ids.make("pm_"),
            account: account,
            created: nowSeconds
        )
        if let made { methods[made.id] = made }
        return made
    }

    /// Handles `POST /v1/payment_methods` with a method of the platform, for a connected account.
    ///
    /// *Source*: <https://docs.stripe.com/connect/direct-charges-multiple-accounts>.
    private mutating func cloneMethod(_ call: APICall) throws(APIError) -> APIReply {
        try call.form.allow(["customer", "expand", "payment_method"])
        let id = try call.form.required("payment_method")
        guard call.account != nil, let method = resolveMethod(id, nil) else {
            throw APIError.noSuch("PaymentMethod", id, param: "payment_method", inPath: false)
        }
        guard method.customer == call.form["customer"] else {
            throw APIError.invalid(
                "The customer \(call.form["customer"] ?? "") does not have a payment method with the "
                    + "ID \(id). The payment method must be attached to the customer.",
                code: "resource_missing",
                param: "payment_method"
            )
        }
        var copy = SandboxMethod(
            id: ids.make("pm_"),
            account: call.account,
            type: method.type,
            created: nowSeconds
        )
        (copy.asks, copy.outcome, copy.card) = (method.asks, method.outcome, method.card)
        (copy.details, copy.billing) = (method.details, method.billing)
        methods[copy.id] = copy
        return APIReply(body: methodJSON(copy, call))
    }

    /// Handles `POST /v1/payment_methods/{id}`; only a saved method can be changed.
    private mutating func updateMethod(
        _ call: APICall,
        _ found: SandboxMethod
    ) throws(APIError) -> APIReply {
        let form = call.form
        let changing = found.type == "us_bank_account" ? "us_bank_account" : "card"
        try form.allow(["allow_redisplay", "billing_details", "expand", "metadata", changing])
        try form.allow(["exp_month", "exp_year", "networks"], below: ["card"])
        try form.allow(["preferred"], below: ["card", "networks"])
        try form.allow(["account_holder_type", "account_type"], below: ["us_bank_account"])
        guard let owner = found.customer, methods[found.id] != nil else {
            throw APIError.invalid(
                "You must save this PaymentMethod to a customer before you can update it.",
                code: "payment_method_unexpected_state"
            )
        }
        var method = found
        try method.update(from: form, at: [])
        if form.has("card") {
            guard var card = method.card else {
                throw APIError.invalid(
                    "You cannot update `card` of a PaymentMethod of type \(method.type).",
                    param: "card"
                )
            }
            try card.update(from: form, at: ["card"])
            method.card = card
            if let network = form["card", "networks", "preferred"] {
                method.preferredNetwork = network.isEmpty ? nil : network
            }
        }
        for name in ["account_holder_type", "account_type"] {
            if let text = form["us_bank_account", name] { method.details[name] = text }
        }
        methods[method.id] = method
        emit(
            "payment_method.updated",
            method.json(),
            account: customers[owner]?.account ?? method.account,
            previous: found.differences(from: method)
        )
        return APIReply(body: methodJSON(method, call))
    }

    private mutating func detachMethod(
        _ call: APICall,
        _ method: SandboxMethod
    ) throws(APIError) -> APIReply {
        try call.form.allow(["expand"])
        guard let customer = method.customer else {
            throw APIError.invalid(
                "The payment method you provided is not attached to a customer so detachment is "
                    + "impossible."
            )
        }
        if sources[method.id] != nil {
            detach(method.id, from: customer)
            var detached = method
            detached.customer = nil
            return APIReply(body: methodJSON(detached, call))
        }
        detachMethod(method.id)
        return APIReply(body: methodJSON(methods[method.id] ?? method, call))
    }

    /// Detaches a method from its customer, which uses it up.
    mutating func detachMethod(_ id: String) {
        guard var method = methods[id], let customer = method.customer else { return }
        method.customer = nil
        method.isSpent = true
        methods[id] = method
        customers[customer]?.methods.removeAll { $0 == id }
        if customers[customer]?.defaultMethod == id { customers[customer]?.defaultMethod = nil }
        emit(
            "payment_method.detached",
            method.json(),
            account: method.account,
            previous: JSONWriter.object { $0.field("customer", customer) }
        )
    }
}

extension SandboxMethod {
    /// Renders the changed fields with their previous values.
    fileprivate func differences(from changed: SandboxMethod) -> [UInt8] {
        JSONWriter.object { writer in
            if allowRedisplay != changed.allowRedisplay {
                writer.field("allow_redisplay", allowRedisplay)
            }
            if billing != changed.billing {
                writer.name("billing_details")
                billing.render(into: &writer)
            }
            if metadata != changed.metadata { writer.field("metadata", metadata) }
            guard let before = card, let after = changed.card else { return }
            guard before.expiryMonth != after.expiryMonth || before.expiryYear != after.expiryYear
            else { return }
            writer.object("card") { writer in
                writer.field("exp_month", before.expiryMonth)
                writer.field("exp_year", before.expiryYear)
            }
        }
    }
}
