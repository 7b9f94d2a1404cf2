import Hummingbird
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches
import PollerWire
import StandardWebhooks

/// Actions on an endpoint: test, rotate, enable, disable; and the secret of inline webhooks.
///
/// A test bypasses the queue and shows whether the endpoint responds, also while deliveries are held. A successful test
/// ends the pause after failures. After a rotation the old secrets sign in addition to the new one, so that the
/// recipient can switch at any time. At most three secrets are active, because each adds a signature to every request.
/// Enabling and disabling are idempotent.
extension EndpointRoutes {
    private static let test = Route(
        .post,
        "/v1/endpoints/{endpoint}/test",
        "testEndpoint",
        "Send a signed endpoint.test event now",
        """
        Bypasses the queue, and also works for a disabled endpoint. It returns when the receiver has responded, or \
        when the attempt times out. If the receiver accepts it after a failure, pending deliveries of the endpoint \
        are attempted now.
        """,
        access: .key(.writeEndpoints),
        input: .name,
        idempotency: .inherent("each test is a new event, and no payment event is sent twice"),
        answers: [.ok("The receiver's response.", "EndpointTest")],
        problems: [404, 409]
    )
    private static let rotate = Route(
        .post,
        "/v1/endpoints/{endpoint}/rotate",
        "rotateEndpoint",
        "Rotate the secret",
        """
        The response contains the new secret. The old ones stay valid until the overlap ends. 409 too_many_secrets \
        if three are active and the overlap is not 0s.
        """,
        access: .key(.readSecrets),
        input: .name,
        idempotency: .kept,
        body: .json(.shape("EndpointRotation"), optional: true),
        answers: [.ok("The endpoint with its new secret.", "Endpoint")],
        problems: [404, 409]
    )
    private static let enable = Route(
        .post,
        "/v1/endpoints/{endpoint}/enable",
        "enableEndpoint",
        "Enable an endpoint",
        "Pending events are delivered first.",
        access: .key(.writeEndpoints),
        input: .name,
        idempotency: .inherent("an enabled endpoint stays enabled"),
        answers: [.ok("The updated endpoint.", "Endpoint")],
        problems: [404]
    )
    private static let disable = Route(
        .post,
        "/v1/endpoints/{endpoint}/disable",
        "disableEndpoint",
        "Disable an endpoint",
        """
        Events of the next 24 hours are kept for it. Later events can be sent with a replay.
        """,
        access: .key(.writeEndpoints),
        input: .name,
        idempotency: .inherent("a disabled endpoint keeps its first reason"),
        body: .json(.shape("EndpointDisabling"), optional: true),
        answers: [.ok("The updated endpoint.", "Endpoint")],
        problems: [404]
    )
    private static let secret = Route(
        .get,
        "/v1/endpoints/{endpoint}/secret",
        "endpointSecret",
        "Read the secret of inline notify URLs",
        """
        Only for the inline endpoint, of which each account has its own secret. The secret of a registered \
        endpoint is shown when it is created.
        """,
        access: .key(.readSecrets),
        input: .all(
            .segment("endpoint", "inline"),
            .signer
        ) { (name: $0, account: $1) },
        answers: [.ok("The secret.", "InlineSecret")],
        problems: [404, 409],
        usesStore: false
    )

    /// The routes of this file.
    var actions: [AnsweredRoute] {
        [
            Self.test.answered(by: test), Self.rotate.answered(by: rotate),
            Self.enable.answered(by: enable), Self.disable.answered(by: disable),
            Self.secret.answered(by: secret),
        ]
    }

    /// Tests an endpoint.
    ///
    /// The response is 200 for any result, because the test itself succeeded.
    private func test(_ name: EndpointName, _ context: APIContext) async throws -> Response {
        let stored = try await stored(name)
        guard let result = await backend.probe.ask(stored.endpoint, at: stored.now) else {
            throw Problem(
                .channelMissing,
                "This server does not deliver to \(stored.endpoint.url.scheme): URLs; "
                    + "for mail set POLLER_SMTP_URL and POLLER_MAIL_FROM.",
                field: "url"
            )
        }
        context.changes.recordAction(
            AuditTarget(stored.endpoint),
            of: stored.endpoint.account
        )
        if result.outcome == .delivered { try await retryWaiting(for: stored.endpoint) }
        return Response(EndpointTest(result))
    }

    /// Retries one pending delivery of an endpoint that had failed and responds again.
    ///
    /// The first accepted delivery ends the pause of all others.
    private func retryWaiting(for endpoint: PollerDeliveries.Endpoint) async throws {
        let lane = try await deliveries.lane(LaneID(endpoint: endpoint.id))
        guard endpoint.isEnabled, lane?.failingSince != nil else { return }
        for state in [DeliverySnapshot.State.failing, .waiting] {
            let query = DeliveryQuery(endpoint: endpoint.id, state: state, limit: 1)
            guard let found = try await deliveries.deliveries(query).items.first else {
                continue
            }
            let unchanged = found.delivery.state
            let revision = DeliveryRevision(id: found.id, from: unchanged, to: unchanged)
            _ = try await deliveries.revise([revision], endingHolds: true)
            return
        }
    }

    /// Rotates the secret.
    ///
    /// A repeat with the same `Idempotency-Key` returns the same secret.
    private func rotate(
        _ name: EndpointName,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let old = try await stored(name).endpoint
        try Self.checkNotOfFile(old)
        guard old.url.isWebhook else {
            throw Problem(
                .invalidValue,
                "Only webhooks have a secret, and this endpoint is \(old.url.scheme):.",
                field: "url"
            )
        }
        let body = try await reader.object(EndpointRotation.self, of: request, isOptional: true)
        let overlap = body.overlap?.duration ?? .seconds(86_400)
        guard overlap <= EndpointSecret.overlapMax else {
            throw Problem.value(
                "overlap",
                "must be a span from 0s to \(EndpointSecret.overlapMax.text)."
            )
        }
        var generator = SystemRandomNumberGenerator()
        let secret = WebhookSecret(
            using: &generator,
            signing: old.secrets.first?.secret.signing ?? .hmac
        )
        let repeated = request.headers[.idempotencyKey].map { key in
            EndpointRequest(account: old.account, key: context.caller.scopedKey(key), body: []).key
        }
        var refusal: InvalidInput?
        // The endpoint at the moment of the update: it may have changed while the body arrived.
        var replaced = old
        let rotated = try await context.changes.attempt(AuditTarget(old), of: old.account) {
            () throws(StoreError) in
            try await backend.store.update(old.id) { endpoint, now in
                replaced = endpoint
                do throws(InvalidInput) {
                    try endpoint.rotate(to: secret, overlap: overlap, request: repeated, at: now)
                    refusal = nil
                } catch {
                    refusal = error
                }
            }
        }
        if let refusal {
            throw Problem(.tooManySecrets, "\(refusal.message).", field: refusal.field)
        }
        guard let rotated else { throw Problem.endpointNotFound(old.id) }
        context.changes.recordChange(from: replaced, to: rotated)
        return Self.shown(rotated)
    }

    private func enable(_ name: EndpointName, _ context: APIContext) async throws -> Response {
        let old = try await stored(name).endpoint
        let answer = try await changed(old.id, context) { endpoint, _ throws(Problem) in
            endpoint.state = .enabled
        }
        // A hold belongs to the time before. A notifier releases it after it has seen the change, but a read of the
        // endpoint before that would still show the hold.
        if !old.isEnabled { try await deliveries.resume(LaneID(endpoint: old.id)) }
        return answer
    }

    private func disable(
        _ name: EndpointName,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let old = try await stored(name).endpoint
        let body = try await reader.object(EndpointDisabling.self, of: request, isOptional: true)
        let shown = body.reason ?? "disabled by request"
        guard (1...200).contains(shown.utf8.count), shown.utf8.allSatisfy({ $0 >= 0x20 }) else {
            throw Problem.value("reason", "must be 1 to 200 bytes without control characters.")
        }
        return try await changed(old.id, context) { endpoint, now throws(Problem) in
            if endpoint.isEnabled { endpoint.state = .disabled(reason: shown, at: now) }
        }
    }

    /// Returns the inline secret of an account.
    ///
    /// The secret of a registered endpoint is shown only once.
    ///
    /// Every account has one, even an unknown account, because it is derived from the name.
    private func secret(
        _ requested: (name: String, account: AccountID),
        _ context: APIContext
    ) async throws -> Response {
        guard requested.name == "inline" else {
            throw Problem(
                .secretNotShown,
                "A secret is shown only when its endpoint is created or rotated; POST "
                    + "…/rotate creates a new one. The secret of inline notify URLs is at "
                    + "/v1/endpoints/inline/secret."
            )
        }
        let account = requested.account
        guard context.caller.accounts.contains(account), let inline = backend.inline else {
            throw Problem(
                .notFound,
                "This server has no secret of inline webhooks for \(account)."
            )
        }
        var answer = InlineSecret()
        answer.secret = inline.secret(of: account).reveal
        answer.account = account.description
        return Response(answer)
    }
}

extension RouteInput where Value == AccountID {
    /// The account of the secret, which may be that of the operators' URLs.
    fileprivate static var signer: Self {
        let named = RouteInput<String?>.text(
            "account",
            """
            The account. Default: the account default, or the key's own account. \(AccountID.operators) for the \
            signature of operator_notify webhooks.
            """,
            .matching("^(\(AccountID.operators)|[A-Za-z0-9_.-]{1,64})$")
        )
        return Self(named.parameters) { values throws(Problem) in
            guard let text = try named.read(values) else {
                return try values.caller.account(named: nil)
            }
            guard text != AccountID.operators.description else { return .operators }
            return try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
                try AccountID(text)
            }
        }
    }
}
