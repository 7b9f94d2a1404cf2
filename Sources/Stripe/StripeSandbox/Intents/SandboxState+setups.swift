import HTTPTypes
import NIOCore

extension SandboxState {
    private static let setupParameters: Set<String> = [
        "attach_to_self", "automatic_payment_methods", "confirm", "customer", "description",
        "expand", "flow_directions", "mandate_data", "metadata", "on_behalf_of", "payment_method",
        "payment_method_data", "payment_method_options", "payment_method_types", "return_url",
        "single_use", "usage", "use_stripe_sdk",
    ]

    /// `/v1/setup_intents`, `…/{id}` and its `confirm`, `cancel` and `verify_microdeposits`.
    mutating func routeSetups(_ call: APICall) throws(APIError) -> APIReply {
        switch (call.method, call.segments.count) {
        case (.post, 1): return try createSetup(call)
        case (.get, 1): return try list(setups, call)
        default: break
        }
        let id = call.segment(1)
        guard call.segments.count > 1, let setup = setups[id], setup.account == call.account
        else { throw APIError.noSuch("setupintent", id) }
        if call.method == .get || ["confirm", "verify_microdeposits"].contains(call.segment(2)) {
            try Self.requireClientSecret(setup.clientSecret, call, kind: "SetupIntent")
        } else {
            try Self.requireSecretKey(call)
        }
        switch (call.method, call.segments.count, call.segment(2)) {
        case (.get, 2, _): break
        case (.post, 2, _):
            var setup = setup
            try call.form.allow(Self.setupParameters)
            try read(call, into: &setup)
            setup.changed()
            setups[id] = setup
        case (.post, 3, "confirm"): try confirmSetup(call, setup)
        case (.post, 3, "cancel"): try cancelSetup(call, setup)
        case (.post, 3, "verify_microdeposits"): try verifySetup(call, setup)
        default: throw Self.unrecognized(call)
        }
        if call.key.isPublishable, let setup = setups[id] {
            return APIReply(body: setup.render(withMetadata: false))
        }
        return APIReply(body: setupJSON(id))
    }

    mutating func setupJSON(_ id: String) -> ByteBuffer {
        setups[id]?.json() ?? ByteBuffer()
    }

    private mutating func createSetup(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        let form = call.form
        try form.allow(Self.setupParameters)
        let usage = try form.choice("usage", ["off_session", "on_session"]) ?? "off_session"
        let mayConfirm = try form.flag("confirm") ?? false
        let id = ids.make("seti_")
        var types = form.list("payment_method_types")
        if types.isEmpty { types = form["payment_method_data", "type"].map { [$0] } ?? ["card"] }
        var setup = SandboxSetup(
            id: id,
            account: call.account,
            clientSecret: ids.make(id + "_secret_", length: 31),
            created: nowSeconds,
            methodTypes: types,
            isAutomatic: form["automatic_payment_methods", "enabled"] == "true",
            usage: usage
        )
        try read(call, into: &setup)
        setups[id] = setup
        note(id, from: nil, to: setup.status)
        emit("setup_intent.created", setupJSON(id), account: call.account)
        if mayConfirm { try confirmSetup(call, setup) }
        return APIReply(body: setupJSON(id))
    }

    private mutating func read(_ call: APICall, into setup: inout SandboxSetup) throws(APIError) {
        if let customer = call.form["customer"] {
            guard customers[customer]?.account == call.account else {
                throw APIError.noSuch("customer", customer, param: "customer", inPath: false)
            }
            setup.customer = customer
        }
        if let text = call.form["description"] { setup.description = text }
        setup.metadata = try call.form.updated(metadata: setup.metadata)
        if let method = try method(in: call) {
            setup.method = method
            if setup.status == "requires_payment_method" { setup.status = "requires_confirmation" }
        }
    }

    private mutating func confirmSetup(_ call: APICall, _ found: SandboxSetup) throws(APIError) {
        try requireStatus(
            of: found,
            ["requires_payment_method", "requires_confirmation", "requires_action"],
            doing: "confirm"
        )
        if let method = try method(in: call) { setups[found.id]?.method = method }
        guard let method = setups[found.id]?.method else {
            throw APIError.invalid(
                "You cannot confirm this SetupIntent because it's missing a payment method.",
                code: "setup_intent_unexpected_state",
                param: "payment_method"
            )
        }
        guard found.isAutomatic || found.methodTypes.contains(method.type) else {
            throw APIError.invalid(
                "The PaymentMethod provided (\(method.type)) is not allowed for this SetupIntent.",
                code: "setup_intent_invalid_parameter",
                param: "payment_method"
            )
        }
        let id = found.id
        if let action = try nextAction(of: method, for: id, secret: found.clientSecret, call) {
            let endMs = action.lifeMs.map { nowMs + $0 }
            setups[id]?.ask(for: action, endMs: endMs)
            if let endMs { timers.set(.expireSetup(id), atMs: endMs) }
            settleSetup(id, to: "requires_action")
        } else if case .declined(let failure) = method.outcome {
            failSetup(id, failure)
            throw APIError.declined(
                failure,
                setupIntent: Array(setupJSON(id).readableBytesView)
            )
        } else {
            authoriseSetup(id)
        }
    }

    private mutating func cancelSetup(_ call: APICall, _ setup: SandboxSetup) throws(APIError) {
        try requireStatus(
            of: setup,
            ["requires_payment_method", "requires_confirmation", "requires_action"],
            doing: "cancel"
        )
        let reason = try call.form.choice(
            "cancellation_reason",
            ["abandoned", "duplicate", "requested_by_customer"]
        )
        setups[setup.id]?.cancellationReason = reason
        settleSetup(setup.id, to: "canceled")
    }

    private mutating func verifySetup(_ call: APICall, _ setup: SandboxSetup) throws(APIError) {
        guard let refusal = try setup.refusal(of: call) else { return authoriseSetup(setup.id) }
        setups[setup.id]?.attemptsRemaining = refusal.left
        if refusal.left == 0 { failSetup(setup.id, refusal.failure) }
        throw refusal.error()
    }

    private func requireStatus(
        of setup: SandboxSetup,
        _ allowed: [String],
        doing verb: String
    ) throws(APIError) {
        guard allowed.contains(setup.status) else {
            throw APIError.invalid(
                "You cannot \(verb) this SetupIntent because it has a status of \(setup.status).",
                code: SandboxSetup.unexpectedState
            )
        }
    }
}
