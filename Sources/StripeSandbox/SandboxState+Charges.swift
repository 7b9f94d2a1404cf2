import HTTPTypes
import NIOCore

extension SandboxState {
    private static let chargeParameters: Set<String> = [
        "amount", "application_fee", "application_fee_amount", "capture", "card", "currency",
        "customer", "description", "destination", "expand", "metadata", "on_behalf_of",
        "radar_options", "receipt_email", "shipping", "source", "statement_descriptor",
        "statement_descriptor_suffix", "transfer_data", "transfer_group",
    ]

    /// `POST` and `GET /v1/charges`, `GET /v1/charges/{id}`.
    mutating func routeCharges(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        switch (call.method, call.segments.count) {
        case (.post, 1):
            return try createCharge(call)
        case (.get, 1):
            let order = chargeOrder
            let intent = call.form["payment_intent"]
            return try Self.page(
                call,
                kind: "charge",
                numbers: 0..<order.count,
                number: { order.firstIndex(of: $0) },
                matches: { number in
                    intent == nil || charges[order[number]]?.paymentIntent == intent
                },
                json: { charges[order[$0]]?.render() ?? [] }
            )
        case (.get, 2):
            let id = String(call.segments[1])
            guard charges[id] != nil else { throw APIError.noSuch("charge", id) }
            return APIReply(body: chargeJSON(id))
        default:
            throw Self.unrecognized(call)
        }
    }

    mutating func chargeJSON(_ id: String) -> ByteBuffer {
        charges[id]?.json() ?? ByteBuffer()
    }

    private mutating func createCharge(_ call: APICall) throws(APIError) -> APIReply {
        let form = call.form
        try form.allow(Self.chargeParameters)
        guard let amount = try form.positive("amount") else { throw APIError.missing("amount") }
        let currency = try form.required("currency").lowercased()
        let sourceID = try form.required("source")
        let isCaptured = try form.flag("capture") ?? true
        guard let source = sources[sourceID] else {
            throw APIError.noSuch("source", sourceID, param: "source", inPath: false)
        }
        try Self.requireChargeable(source, amount: amount, currency: currency)

        let isDeclined = ["0002", "0341", "9995"].contains(source.cardLast4)
        let isAsynchronous = SourceKind.all[source.type]?.isAsynchronous == true
        if !isDeclined, source.usage == "single_use" {
            settleSource(sourceID, to: "consumed")
        }
        let id = ids.make(isAsynchronous ? "py_" : "ch_")
        charges[id] = SandboxCharge(
            id: id,
            amount: amount,
            currency: currency,
            created: nowSeconds,
            methodType: source.type,
            status: isDeclined ? "failed" : isAsynchronous ? "pending" : "succeeded",
            isCaptured: isCaptured,
            customer: form["customer"],
            description: form["description"],
            statementDescriptor: form["statement_descriptor"],
            source: (sourceID, sourceJSON(sourceID)),
            owner: source.owner,
            metadata: form.texts("metadata")
        )
        chargeOrder.append(id)
        if isDeclined {
            charges[id]?.failureCode = "card_declined"
            charges[id]?.failureMessage = "Your card was declined."
            emit("charge.failed", chargeJSON(id))
            throw APIError(
                status: 402,
                type: "card_error",
                message: "Your card was declined.",
                code: "card_declined",
                declineCode: "generic_decline",
                charge: id
            )
        }
        emit(isAsynchronous ? "charge.pending" : "charge.succeeded", chargeJSON(id))
        if isAsynchronous {
            let succeeds = source.owner.name != "failing_charge"
            actions.append(.settleLater(.charge(id, succeeds: succeeds)))
        }
        return APIReply(body: chargeJSON(id))
    }

    /// Ends a pending charge.
    mutating func settleCharge(_ id: String, succeeds: Bool) {
        guard charges[id]?.status == "pending" else { return }
        charges[id]?.status = succeeds ? "succeeded" : "failed"
        if !succeeds {
            charges[id]?.failureCode = "payment_method_provider_decline"
            charges[id]?.failureMessage = "The payment was declined by the bank."
        }
        charges[id]?.changed()
        emit(succeeds ? "charge.succeeded" : "charge.failed", chargeJSON(id))
    }

    private static func requireChargeable(
        _ source: SandboxSource,
        amount: Int,
        currency: String
    ) throws(APIError) {
        guard source.status == "chargeable" else {
            throw APIError.invalid(
                source.status == "consumed"
                    ? "The source you provided has already been consumed and cannot be charged again."
                    : "The source you provided is not in a chargeable state. (Its status is "
                        + "\(source.status).)",
                code: "payment_method_unexpected_state",
                param: "source"
            )
        }
        if let expected = source.currency, expected != currency {
            throw APIError.invalid(
                "The currency provided (\(currency)) does not match the currency of the source "
                    + "(\(expected)).",
                param: "currency"
            )
        }
        if source.usage == "single_use", let limit = source.amount, amount > limit {
            throw APIError.invalid(
                "The amount provided (\(amount)) is greater than the source amount (\(limit)).",
                code: "invalid_charge_amount",
                param: "amount"
            )
        }
    }
}
