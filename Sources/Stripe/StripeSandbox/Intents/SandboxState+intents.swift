import HTTPTypes
import NIOCore

extension SandboxState {
    /// `/v1/payment_intents`, `…/{id}` and its `confirm`, `cancel`, `capture`, `source_cancel` and
    /// `verify_microdeposits`.
    mutating func routeIntents(_ call: APICall) throws(APIError) -> APIReply {
        switch (call.method, call.segments.count) {
        case (.post, 1): return try createIntent(call)
        case (.get, 1): return try list(intents, call)
        default: break
        }
        let id = call.segment(1)
        guard call.segments.count > 1, let intent = intents[id], intent.account == call.account
        else { throw APIError.noSuch("payment_intent", id) }
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
        case (.post, 3, "confirm"): try confirmIntent(call, id)
        case (.post, 3, "cancel"): try cancelIntent(call, id)
        case (.post, 3, "capture"): try captureIntent(call, id)
        case (.post, 3, "source_cancel"):
            try requireStatus(id, ["requires_action"], doing: "cancel the payment method of")
            failIntent(id, Self.abandoned)
        case (.post, 3, "verify_microdeposits"): try verifyIntent(call, intent)
        default: throw Self.unrecognized(call)
        }
        return intentReply(call, id)
    }

    /// What a customer who gave up leaves behind.
    static let abandoned = PaymentFailure(
        code: "payment_intent_authentication_failure",
        message: "The customer did not authorise the payment."
    )

    mutating func intentJSON(_ id: String) -> ByteBuffer {
        intents[id]?.json() ?? ByteBuffer()
    }

    private mutating func intentReply(_ call: APICall, _ id: String) -> APIReply {
        let expanded = call.form.list("expand").contains("latest_charge")
        if call.key.isPublishable || expanded, let intent = intents[id] {
            let charge = expanded ? intent.latestCharge.map { chargeJSON($0) } : nil
            return APIReply(
                body: intent.render(withMetadata: !call.key.isPublishable, charge: charge)
            )
        }
        return APIReply(body: intentJSON(id))
    }

    private mutating func captureIntent(_ call: APICall, _ id: String) throws(APIError) {
        try requireStatus(id, ["requires_capture"], doing: "capture")
        let amount = try call.form.positive("amount_to_capture")
        guard let intent = intents[id] else { return }
        guard amount ?? 0 <= intent.amount else {
            throw APIError.invalid(
                "The amount to capture is larger than the amount of the PaymentIntent.",
                code: "amount_too_large",
                param: "amount_to_capture"
            )
        }
        intents[id]?.receivedAmount = amount ?? intent.amount
        settleIntent(id, to: "succeeded")
    }

    private mutating func cancelIntent(_ call: APICall, _ id: String) throws(APIError) {
        try requireStatus(
            id,
            [
                "requires_payment_method", "requires_capture", "requires_confirmation",
                "requires_action",
            ],
            doing: "cancel"
        )
        let reason = try call.form.choice(
            "cancellation_reason",
            ["abandoned", "duplicate", "fraudulent", "requested_by_customer"]
        )
        intents[id]?.cancellationReason = reason
        settleIntent(id, to: "canceled")
    }

    /// `POST /v1/payment_intents/{id}/verify_microdeposits` with `amounts[]` or `descriptor_code`.
    private mutating func verifyIntent(_ call: APICall, _ intent: SandboxIntent) throws(APIError) {
        guard let refusal = try intent.refusal(of: call) else { return authoriseIntent(intent.id) }
        intents[intent.id]?.attemptsRemaining = refusal.left
        if refusal.left == 0 { failIntent(intent.id, refusal.failure) }
        throw refusal.error()
    }

    func requireStatus(_ id: String, _ allowed: [String], doing verb: String) throws(APIError) {
        let status = intents[id]?.status ?? ""
        guard allowed.contains(status) else {
            throw APIError.invalid(
                "You cannot \(verb) this PaymentIntent because it has a status of \(status). Only "
                    + "a PaymentIntent with one of the following statuses may be: "
                    + allowed.joined(separator: ", ") + ".",
                code: SandboxIntent.unexpectedState
            )
        }
    }
}
