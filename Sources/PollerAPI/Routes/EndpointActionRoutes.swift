import Hummingbird
import Poller

/// What is done to an endpoint: test, rotate, enable, disable; and the secret of inline webhooks.
extension EndpointRoutes {
    /// Answers 200 whatever the receiver did: that it could be asked is the success.
    @Sendable
    func test(_ request: Request, _ context: APIContext) async throws -> Response {
        try BodyReader.checkIdempotencyKey(request)
        let stored = try await stored(request, context)
        guard let result = await backend.probe.ask(stored.endpoint, at: stored.now) else {
            throw Problem(
                .channelMissing,
                "This server does not deliver to \(stored.endpoint.url.scheme): URLs; "
                    + "for mail set POLLER_SMTP_URL and POLLER_MAIL_FROM.",
                field: "url"
            )
        }
        return Response(json: result.json)
    }

    /// A repeat with the same `Idempotency-Key` answers the same secret.
    @Sendable
    func rotate(_ request: Request, _ context: APIContext) async throws -> Response {
        try BodyReader.checkIdempotencyKey(request)
        let old = try await stored(request, context).endpoint
        try Self.checkNotOfFile(old)
        guard old.url.isWebhook else {
            throw Problem(
                .invalidValue,
                "Only webhooks have a secret; this one is \(old.url.scheme):.",
                field: "url"
            )
        }
        let body = try await optionalBody(request, ["overlap"])
        let overlap = try body.duration("overlap") ?? .seconds(86_400)
        guard overlap <= EndpointSecret.overlapMax else {
            throw Problem(
                .invalidValue,
                "overlap must be a span from 0s to \(EndpointSecret.overlapMax.text).",
                field: "overlap"
            )
        }
        var chance = SystemRandomNumberGenerator()
        let secret = WebhookSecret(using: &chance)
        let repeated = request.headers[.idempotencyKey].map { key in
            EndpointRequest(account: old.account, key: key, body: []).key
        }
        var refusal: InvalidInput?
        let rotated = try await backend.store.update(old.id) { endpoint, now in
            do throws(InvalidInput) {
                try endpoint.rotate(to: secret, overlap: overlap, request: repeated, at: now)
                refusal = nil
            } catch {
                refusal = error
            }
        }
        if let refusal {
            throw Problem(.tooManySecrets, "\(refusal.message).", field: refusal.field)
        }
        guard let rotated else { throw Problem.endpointNotFound(old.id) }
        return Self.shown(rotated)
    }

    @Sendable
    func enable(_ request: Request, _ context: APIContext) async throws -> Response {
        try BodyReader.checkIdempotencyKey(request)
        let old = try await stored(request, context).endpoint
        return try await changed(old.id) { endpoint, _ throws(Problem) in
            endpoint.state = .enabled
        }
    }

    @Sendable
    func disable(_ request: Request, _ context: APIContext) async throws -> Response {
        try BodyReader.checkIdempotencyKey(request)
        let old = try await stored(request, context).endpoint
        let reason = try await optionalBody(request, ["reason"]).string("reason")
        let shown = reason ?? "disabled by request"
        guard (1...200).contains(shown.utf8.count), shown.utf8.allSatisfy({ $0 >= 0x20 }) else {
            throw Problem(
                .invalidValue,
                "reason must be 1 to 200 bytes without control characters.",
                field: "reason"
            )
        }
        return try await changed(old.id) { endpoint, now throws(Problem) in
            if endpoint.isEnabled { endpoint.state = .disabled(reason: shown, at: now) }
        }
    }

    /// Only of `inline`: a registered endpoint's secret is told once.
    @Sendable
    func secret(_ request: Request, _ context: APIContext) async throws -> Response {
        _ = try QueryParameters(request, allowed: [])
        guard context.parameters.get("endpoint") == "inline" else {
            throw Problem(
                .secretNotShown,
                "A secret is shown when its endpoint is created and when it is rotated, never "
                    + "again; POST …/rotate makes a new one. Of inline notify URLs it is at "
                    + "/v1/endpoints/inline/secret."
            )
        }
        guard let secret = backend.inlineSecret else {
            throw Problem(.notFound, "This server does not know the secret of inline webhooks.")
        }
        var json = JSONObject()
        json.add("secret", secret.reveal)
        return Response(json: json.text)
    }
}
