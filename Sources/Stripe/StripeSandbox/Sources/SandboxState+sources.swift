import HTTPTypes
import NIOCore

extension SandboxState {
    /// `POST /v1/sources` and everything under `/v1/sources/{id}`; Sources cannot be listed, as at Stripe.
    mutating func routeSources(_ call: APICall) throws(APIError) -> APIReply {
        if call.method == .post, call.segments.count == 1 { return try createSource(call) }
        guard call.segments.count > 1 else { throw Self.unrecognized(call) }
        let id = call.segment(1)
        guard let source = sources[id], source.account == call.account else {
            throw APIError.noSuch("source", id)
        }
        switch (call.method, call.segments.count, call.segment(2)) {
        case (.get, 2, _):
            try Self.requireClientSecret(source.clientSecret, call, kind: "source")
            return sourceReply(call, id)
        case (.post, 2, _):
            try Self.requireSecretKey(call)
            return try modifySource(call, source)
        case (.post, 3, "verify"):
            try Self.requireClientSecret(source.clientSecret, call, kind: "source")
            return try verifySource(call, source)
        case (.get, 3, "source_transactions"), (.get, 4, "source_transactions"):
            try Self.requireSecretKey(call)
            return try readTransactions(call, source)
        case (.get, 4, "mandate_notifications"):
            try Self.requireSecretKey(call)
            let name = call.segment(3)
            guard let found = notifications[name], found.source == id else {
                throw APIError.noSuch("mandate notification", name)
            }
            return APIReply(body: found.json)
        default:
            throw Self.unrecognized(call)
        }
    }

    /// A source as the call's key sees it.
    mutating func sourceReply(_ call: APICall, _ id: String) -> APIReply {
        if call.key.isPublishable, let source = sources[id] {
            return APIReply(body: source.render(withMetadata: false))
        }
        return APIReply(body: sourceJSON(id))
    }

    /// The object as JSON, from the cache unless it changed.
    mutating func sourceJSON(_ id: String) -> ByteBuffer {
        sources[id]?.json() ?? ByteBuffer()
    }

    private mutating func modifySource(
        _ call: APICall,
        _ found: SandboxSource
    ) throws(APIError) -> APIReply {
        var source = found
        let form = call.form
        try form.allow([
            "amount", "expand", "mandate", "metadata", "owner", "source_order", source.type,
        ])
        if let amount = try form.positive("amount") {
            guard source.status == "pending" || source.status == "chargeable" else {
                throw APIError.invalid(
                    "The amount of a source that is \(source.status) cannot be changed.",
                    code: "payment_method_unexpected_state",
                    param: "amount"
                )
            }
            source.amount = amount
        }
        source.owner.update(from: form)
        source.metadata = try form.updated(metadata: source.metadata)
        if let order = Self.order(form, source.currency) { source.order = order }
        if let method = form["mandate", "notification_method"] {
            source.notifiesManually = method == "manual"
        }
        // Stripe marks a revoked mandate's source as failed: nothing can be debited any more.
        let isRevoked = form["mandate", "acceptance", "status"] == "revoked"
        if !form.texts(source.type).isEmpty, let kind = SourceKind.all[source.type] {
            source.details = kind.details(of: source.type, form: form, card: source.card)
            if source.receiver != nil { source.receiver?.refundStatus = "available" }
        }
        source.changed()
        sources[source.id] = source
        if isRevoked { settleSource(source.id, to: "failed") }
        if source.receiver?.refundStatus == "available" { refundAttributesArrived(source.id) }
        return sourceReply(call, source.id)
    }

    /// `POST /v1/sources/{id}/verify` with `values[]`.
    private mutating func verifySource(
        _ call: APICall,
        _ source: SandboxSource
    ) throws(APIError) -> APIReply {
        try call.form.allow(["client_secret", "expand", "values"])
        guard var verification = source.verification else {
            throw APIError.invalid("This source does not need to be verified.", param: "source")
        }
        guard source.status == "pending" else {
            throw APIError.invalid(
                "This source is \(source.status) and cannot be verified any more.",
                code: "payment_method_unexpected_state"
            )
        }
        let values = call.form.list("values")
        guard !values.isEmpty else { throw APIError.missing("values") }
        let left = verification.attemptsRemaining
        let refusal = Microdeposits.refusal(of: values, left: left)
        if let refusal {
            verification.attemptsRemaining = refusal.left
            if refusal.left == 0 { verification.status = "failed" }
        } else {
            verification.status = "succeeded"
        }
        sources[source.id]?.verification = verification
        sources[source.id]?.changed()
        guard let refusal else {
            settleSource(source.id, to: "chargeable")
            return sourceReply(call, source.id)
        }
        if refusal.left == 0 { settleSource(source.id, to: "failed") }
        throw refusal.error(param: "values")
    }

    private func readTransactions(
        _ call: APICall,
        _ source: SandboxSource
    ) throws(APIError) -> APIReply {
        let all = transactions[source.id] ?? []
        if call.segments.count == 4 {
            let id = call.segment(3)
            guard let found = all.first(where: { $0.id == id }) else {
                throw APIError.noSuch("source_transaction", id)
            }
            return APIReply(body: found.json())
        }
        return try ListPage(call, kind: "source_transaction") { id in
            all.firstIndex { $0.id == id }
        }
        .reply(all.indices) { all[$0].json() }
    }
}
