import HTTPTypes
import JSONText
import NIOCore

extension SandboxState {
    /// `/v1/payment_intents`, `…/{id}` and its `confirm`, `cancel`, `capture`, `source_cancel` and
    /// `verify_microdeposits`.
    mutating func routeIntents(_ call: APICall) throws(APIError) -> APIReply {
        switch (call.method, call.segments.count) {
        case (.post, 1): return try createIntent(call)
        case (.get, 1): return try list(intents, call)
        case (.get, 2) where call.segment(1) == "search":
            try Self.requireSecretKey(call)
            return try intents.search(call) { $0.json() }
        default: break
        }
        let intent = try intents.found(call)
        let id = intent.id
        if ["", "confirm", "source_cancel", "verify_microdeposits"].contains(call.segment(2)),
            call.method == .get || call.segments.count == 3
        {
            try Self.requireClientSecret(intent.clientSecret, call, kind: "PaymentIntent")
        } else {
            try Self.requireSecretKey(call)
        }
        switch (call.method, call.segments.count, call.segment(2)) {
        case (.get, 2, _): break
        case (.post, 2, _): try updateIntent(call, intent)
        case (.post, 3, "confirm"):
            try call.form.allow(
                Self.confirmParameters.union([
                    "capture_method", "error_on_requires_action", "mandate", "off_session",
                    "radar_options", "receipt_email", "setup_future_usage", "shipping",
                ])
            )
            try confirmIntent(call, intent)
        case (.post, 3, "cancel"): try cancelIntent(call, intent)
        case (.post, 3, "capture"): try captureIntent(call, intent)
        case (.post, 3, "source_cancel"):
            try intent.require(["requires_action"], doing: "cancel the payment method of")
            fail(\.intents, id, SandboxIntent.abandoned)
        case (.post, 3, "verify_microdeposits"): try verify(\.intents, intent, call)
        default: throw Self.unrecognized(call)
        }
        return intentReply(call, id)
    }

    private mutating func intentReply(_ call: APICall, _ id: String) -> APIReply {
        let paths = call.form.list("expand")
        let withRefunds = paths.contains("latest_charge.refunds")
        let expanded = withRefunds || paths.contains("latest_charge")
        let method =
            paths.contains("payment_method")
            ? intents[id].flatMap { currentMethod(of: $0) }?.json() : nil
        if call.key.isPublishable || expanded || method != nil, let intent = intents[id] {
            let charge =
                expanded
                ? intent.latestCharge.map { chargeJSON($0, withRefunds: withRefunds) } : nil
            return APIReply(
                body: intent.render(
                    withMetadata: !call.key.isPublishable,
                    charge: charge,
                    method: method
                )
            )
        }
        return APIReply(body: json(\.intents, id))
    }

    /// Captures all or part of a hold; after the last capture the rest is released.
    private mutating func captureIntent(
        _ call: APICall,
        _ intent: SandboxIntent
    ) throws(APIError) {
        try intent.require(["requires_capture"], doing: "capture")
        let isLast = try call.form.flag("final_capture") ?? true
        // Only a final capture after others may be zero.
        let isNothing = call.form["amount_to_capture"] == "0" && isLast
        guard let charge = intent.latestCharge.flatMap({ charges[$0] }) else { return }
        let amount =
            try isNothing && charge.isTaken ? 0 : call.form.positive("amount_to_capture")
        guard amount ?? 0 <= intent.capturable else {
            throw APIError.invalid(
                "The amount to capture is larger than the amount of the PaymentIntent.",
                code: "amount_too_large",
                param: "amount_to_capture"
            )
        }
        let captures = charge.hold?.captures ?? 0
        guard isLast || intent.mayBeCapturedAgain && captures < SandboxHold.capturesMax - 1 else {
            throw APIError.invalid(
                "This PaymentIntent cannot be captured multiple times.",
                param: "final_capture"
            )
        }
        try capture(charge.id, amount: amount, isLast: isLast)
        intents[intent.id]?.receivedAmount = charges[charge.id]?.taken ?? 0
        intents[intent.id]?.changed()
        if intent.mayBeCapturedAgain {
            emit(
                "payment_intent.amount_capturable_updated",
                json(\.intents, intent.id),
                account: intent.account,
                previous: JSONWriter.object { $0.field("amount_capturable", intent.capturable) }
            )
        }
        if isLast { settle(\.intents, intent.id, to: "succeeded") }
    }

    private mutating func cancelIntent(
        _ call: APICall,
        _ intent: SandboxIntent
    ) throws(APIError) {
        try intent.require(
            [
                "requires_payment_method", "requires_capture", "requires_confirmation",
                "requires_action",
            ],
            doing: "cancel"
        )
        guard intent.receivedAmount == 0 else {
            throw APIError.invalid(
                "This PaymentIntent was captured in part. Release the rest with a final capture of 0.",
                code: SandboxIntent.unexpectedState
            )
        }
        let reason = try call.form.choice(
            "cancellation_reason",
            ["abandoned", "duplicate", "fraudulent", "requested_by_customer"]
        )
        intents[intent.id]?.cancellationReason = reason
        settle(\.intents, intent.id, to: "canceled")
    }
}

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
        guard mayConfirm || !form.isOffSession else {
            throw APIError.invalid(
                "You can only use `off_session` when `confirm` is `true`.",
                param: "off_session"
            )
        }
        let isAutomatic = form["automatic_payment_methods", "enabled"] == "true"
        var types = form.list("payment_method_types")
        if types.isEmpty {
            types = form["payment_method_data", "type"].map { [$0] } ?? ["card"]
            if isAutomatic { types = ["card", "ideal", "sepa_debit"] }
        }
        for type in types where MethodType.all[type] == nil {
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
        recordStatus(id, from: nil, to: intent.status)
        emit("payment_intent.created", json(\.intents, id), account: intent.account)
        if mayConfirm { try confirmIntent(call, intent) }
        return intentReply(call, id)
    }

    /// `POST /v1/payment_intents/{id}`.
    mutating func updateIntent(_ call: APICall, _ found: SandboxIntent) throws(APIError) {
        var intent = found
        try call.form.allow(Self.updateParameters)
        if let amount = try call.form.positive("amount") {
            try intent.require(SandboxIntent.open, doing: "change the amount of")
            intent.amount = amount
        }
        if let currency = call.form["currency"] { intent.currency = currency.lowercased() }
        let types = call.form.list("payment_method_types")
        if !types.isEmpty { intent.methodTypes = types }
        try read(call, into: &intent)
        let previous = intent.status
        if intent.method != nil, intent.status == "requires_payment_method" {
            intent.status = "requires_confirmation"
        }
        intent.changed()
        intents[intent.id] = intent
        if intent.status != previous { recordStatus(intent.id, from: previous, to: intent.status) }
    }

    /// Reads the parameters common to creation and update.
    private mutating func read(
        _ call: APICall,
        into intent: inout SandboxIntent
    ) throws(APIError) {
        let form = call.form
        if let customer = form["customer"] {
            intent.customer = try resolveCustomer(customer, call).id
        }
        let capture = try form.choice("capture_method", ["automatic", "automatic_async", "manual"])
        if let capture { intent.isManualCapture = capture == "manual" }
        if let value = form["payment_method_options", "card", "request_multicapture"] {
            intent.multicapture = value
        }
        if let text = form["description"] { intent.description = text }
        if let text = form["receipt_email"] { intent.receiptEmail = text }
        if let text = form["statement_descriptor"] { intent.statementDescriptor = text }
        let usage = try form.choice("setup_future_usage", ["off_session", "on_session"])
        if let usage { intent.setupFutureUsage = usage }
        intent.metadata = try form.updated(metadata: intent.metadata)
        try intent.sharing.update(from: call, amount: intent.amount)
        if let method = try method(in: call, for: intent) { intent.method = method }
    }
}
