import HTTPTypes
import NIOCore

extension SandboxState {
    /// `POST /v1/sources`, `GET` and `POST /v1/sources/{id}`; Sources cannot be listed, as at Stripe.
    mutating func routeSources(_ call: APICall) throws(APIError) -> APIReply {
        switch (call.method, call.segments.count) {
        case (.post, 1):
            return try createSource(call)
        case (.get, 2):
            return try retrieveSource(call, String(call.segments[1]))
        case (.post, 2):
            return try modifySource(call, String(call.segments[1]))
        default:
            throw Self.unrecognized(call)
        }
    }

    private mutating func retrieveSource(
        _ call: APICall,
        _ id: String
    ) throws(APIError) -> APIReply {
        guard let source = sources[id] else { throw APIError.noSuch("source", id) }
        try Self.requireClientSecret(source.clientSecret, call, kind: "source")
        if call.key.isPublishable { return APIReply(body: source.render(withMetadata: false)) }
        return APIReply(body: sourceJSON(id))
    }

    private mutating func modifySource(_ call: APICall, _ id: String) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        guard let source = sources[id] else { throw APIError.noSuch("source", id) }
        try call.form.allow(["amount", "expand", "mandate", "metadata", "owner", "source_order"])
        var owner = source.owner
        owner.update(from: call.form)
        sources[id]?.owner = owner
        for (name, text) in call.form.texts("metadata") {
            // An empty text unsets a key.
            sources[id]?.metadata[name] = text.isEmpty ? nil : text
        }
        sources[id]?.changed()
        return APIReply(body: sourceJSON(id))
    }

    /// The object as JSON, from the cache unless it changed.
    mutating func sourceJSON(_ id: String) -> ByteBuffer {
        sources[id]?.json() ?? ByteBuffer()
    }

    /// Moves a source from any status to any other, as tests need it, records and announces it.
    mutating func settleSource(_ id: String, to status: String, failureReason: String? = nil) {
        guard let source = sources[id], source.status != status else { return }
        let previous = source.status
        sources[id]?.status = status
        switch status {
        case "chargeable":
            sources[id]?.owner.isVerified = source.flow == "redirect"
            sources[id]?.redirect?.status = "succeeded"
            sources[id]?.redirect?.failureReason = nil
        case "failed":
            sources[id]?.redirect?.status = "failed"
            sources[id]?.redirect?.failureReason = failureReason ?? "declined"
        case "canceled":
            if source.redirect?.status == "pending" {
                sources[id]?.redirect?.status = "failed"
                sources[id]?.redirect?.failureReason = failureReason ?? "user_abort"
            }
        default:
            break
        }
        sources[id]?.changed()
        note(id, from: previous, to: status)
        // There is no event for pending or consumed.
        if ["chargeable", "failed", "canceled"].contains(status) {
            emit("source.\(status)", sourceJSON(id))
        }
    }

    /// Makes many pending sources at once.
    mutating func bulkSources(
        count: Int,
        type: String,
        kind: SourceKind,
        amount: Int,
        base: String
    ) -> [String] {
        let form = Form()
        let details = kind.details(of: type, form: form)
        var made: [String] = []
        made.reserveCapacity(count)
        sources.reserveCapacity(sources.count + count)
        for _ in 0..<count {
            var source = SandboxSource(
                id: ids.make("src_"),
                type: type,
                kind: kind,
                usage: kind.usage,
                amount: kind.usage == "reusable" ? nil : amount,
                currency: "eur",
                clientSecret: ids.make("src_client_secret_"),
                created: nowSeconds,
                details: details,
                owner: SandboxOwner(name: "Jenny Rosen", email: "jenny.rosen@example.com")
            )
            attachFlow(to: &source, returnURL: "https://example.com/return", base: base)
            made.append(source.id)
            note(source.id, from: nil, to: source.status)
            sources[source.id] = source
        }
        return made
    }

    /// Gives a new source what its flow needs and its first status.
    func attachFlow(to source: inout SandboxSource, returnURL: String?, base: String) {
        if let returnURL {
            source.redirect = SandboxRedirect(
                url: "\(base)/redirect/\(source.id)?client_secret=\(source.clientSecret)",
                returnURL: returnURL
            )
        }
        if source.flow == "receiver" {
            source.receiver = SandboxReceiver(address: "12345-123456789")
        }
        if SourceKind.all[source.type]?.startsChargeable == true { source.status = "chargeable" }
    }
}
