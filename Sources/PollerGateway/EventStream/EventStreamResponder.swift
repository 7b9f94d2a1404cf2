import Logging
import NIOCore
import NIOHTTP1
import PollerDeliveries
import PollerHTTP
import PollerIdentity
import PollerNet
import PollerQueue
import PollerWatches

/// Decides the response to a request for an event stream.
///
/// A browser's EventSource never reconnects after a 429 or 503, and stops at a 204 (HTML standard §9.2). So a temporary
/// problem gives a 200 with the time to reconnect. A 204 means that the source is settled and the client has all its
/// events. Only services send keys, because browsers cannot. So a key with too many connections gives a 429.
///
/// | request | response |
/// |---|---|
/// | an origin that may not connect (``OriginCheck``), or another machine if there are no keys | 403 |
/// | `OPTIONS` | 204 with the headers that a page may send |
/// | neither `GET` nor `HEAD` | 405 |
/// | an invalid query | 400, 414 |
/// | missing or invalid credentials | 401 |
/// | a key with all its connections open | 429, `Retry-After` |
/// | other credentials with all connections open, or that cannot be checked now | 200, `retry` |
/// | a settled source, and the client has its last event | 204 |
/// | anything else | the stream |
///
/// *Credentials*, in this order:
/// - `Authorization` with a key, a stream token, or the source's client secret.
/// - `token` in the query, a stream token only, because EventSource sends no headers.
/// - None, on this machine, if there are no keys.
///
/// *A token in the query* is valid for one connection within 30 s of its creation. After that it is useless, because
/// URLs are logged. A browser that reconnects repeats the URL. It also sends `Last-Event-ID`, a header that is not
/// logged, with a cursor that only the holder of this stream received. So it may continue until the token expires.
struct EventStreamResponder: Sendable {
    /// The response to a request.
    enum Answer: Sendable {
        /// The stream, with a slot that is held as long as it lasts.
        case stream(Subscription, SlotCounter.Slot)
        /// Nothing more will follow: 204.
        case done
        /// Not possible now: 200 with the time to reconnect.
        case later
        /// The reply to a browser's preflight request: 204.
        case preflight
        case refused(Refusal)
    }

    static let methods = "GET, HEAD, OPTIONS"
    /// The longest time from the check of credentials to a stream.
    ///
    /// It takes longer only if the store does not answer.
    private static let decisionMax = GatewayLoop.admissionMax / 2

    let gateway: GatewayCore
    let origins: OriginCheck

    /// Decides the response.
    ///
    /// `address` is the client's.
    func answer(_ head: HTTPRequestHead, from address: IPAddress?) async -> Answer {
        do throws(Refusal) {
            if let refusal = origins.refusal(of: head) { throw refusal }
            if head.method == .OPTIONS { return .preflight }
            guard head.method == .GET || head.method == .HEAD else {
                throw Refusal(
                    status: .methodNotAllowed,
                    code: "method_not_allowed",
                    detail: "use \(Self.methods)"
                )
            }
            let request = try EventStreamRequest(head)
            guard let principal = try await principal(request, head, address) else {
                return .later
            }
            let admitted = ContinuousClock.now
            let subscription: Subscription
            do throws(InvalidInput) {
                subscription = try request.subscription(for: principal, limits: gateway.limits)
            } catch {
                throw Refusal(status: .badRequest, code: "invalid_parameter", detail: "\(error)")
            }
            let isSettled = await isDone(request, subscription)
            // These answers spend no token, and must not tell a reader of logs whether the source is settled.
            if request.hasQueryToken, isSettled || head.method == .HEAD {
                guard try await checkUnspent(principal, request) else { return .later }
            }
            if isSettled { return .done }
            guard let slot = gateway.slots.takeSlot(for: principal) else {
                guard principal.credential == .key else { return .later }
                throw tooMany
            }
            guard ContinuousClock.now - admitted < Self.decisionMax / 2 else { return .later }
            // Done last, so that a client that must reconnect still has a valid token.
            if request.hasQueryToken, head.method == .GET {
                guard try await spend(principal, request) else { return .later }
            }
            // A key revoked meanwhile is remembered for this long (``GatewayLoop``).
            guard ContinuousClock.now - admitted < Self.decisionMax else { return .later }
            return .stream(subscription, slot)
        } catch {
            return .refused(error)
        }
    }

    private var tooMany: Refusal {
        Refusal(
            status: .tooManyRequests,
            code: "too_many_requests",
            detail:
                "\(gateway.limits.connectionsPerKeyMax) connections with this key are open; close "
                + "some, or have POLLER_STREAMS_PER_KEY raised",
            retryAfter: gateway.limits.overloadRetry
        )
    }

    /// Returns the principal of the request, or `nil` if it cannot be determined now.
    private func principal(
        _ request: EventStreamRequest,
        _ head: HTTPRequestHead,
        _ address: IPAddress?
    ) async throws(Refusal) -> Principal? {
        let anonymous = gateway.authorizer.anonymous(head, from: address)
        var presented: [Authorizer.Credentials] = []
        if let text = request.credentials {
            presented.append(.token(text))
            let watch: WatchKey?
            do throws(InvalidInput) {
                watch = try request.watch()
            } catch {
                throw Refusal(status: .badRequest, code: "invalid_parameter", detail: "\(error)")
            }
            if let watch { presented.append(.secret(watch, text)) }
        } else if let text = request.query["token"] {
            return try await principal(queryToken: text)
        } else if let anonymous {
            return anonymous
        } else if gateway.authorizer.keys.anonymous != nil {
            throw Refusal(
                status: .forbidden,
                code: "not_local",
                detail: "this server has no API keys and serves only 127.0.0.1 and localhost, and "
                    + "nothing that a proxy has passed on"
            )
        }
        var isUnavailable = false
        for credentials in presented {
            switch await gateway.authorizer.admit(credentials, anonymous: anonymous) {
            case .admitted(let principal): return principal
            case .refused(.unavailable, _): isUnavailable = true
            case .refused: continue
            }
        }
        if isUnavailable { return nil }
        throw Self.unauthenticated(
            presented.isEmpty
                ? "send Authorization: Bearer with a key, a stream token or the source's own secret"
                : "these credentials are not known, or have expired"
        )
    }

    /// URLs are logged, so only a short-lived token may be in one.
    private func principal(queryToken text: String) async throws(Refusal) -> Principal {
        if let principal = await gateway.authorizer.tokens?.principal(streamToken: text) {
            return principal
        }
        throw Self.unauthenticated(
            "token must be a stream token that has not expired: POST /v1/stream_tokens makes one"
        )
    }

    /// Spends a token from a URL, unless its holder reconnects.
    ///
    /// Returns `false` if the store cannot be read now.
    private func spend(
        _ principal: Principal,
        _ request: EventStreamRequest
    ) async throws(Refusal) -> Bool {
        if isReconnect(principal, request) { return true }
        let isFirst: Bool
        do throws(StoreError) {
            let life = principal.validFor ?? StreamGrant.lifetimeMax
            isFirst = try await gateway.authorizer.spent.spend(principal.name, for: life)
        } catch {
            gateway.logger.warning("token not spent", metadata: ["error": "\(error)"])
            return false
        }
        guard isInTime(principal), isFirst else { throw Self.spentToken }
        return true
    }

    /// Checks that a token from a URL could still be spent, unless its holder reconnects.
    ///
    /// Returns `false` if the store cannot be read now.
    private func checkUnspent(
        _ principal: Principal,
        _ request: EventStreamRequest
    ) async throws(Refusal) -> Bool {
        if isReconnect(principal, request) { return true }
        let isSpent: Bool
        do throws(StoreError) {
            isSpent = try await gateway.authorizer.spent.isSpent(principal.name)
        } catch {
            gateway.logger.warning("token not looked up", metadata: ["error": "\(error)"])
            return false
        }
        guard isInTime(principal), !isSpent else { throw Self.spentToken }
        return true
    }

    /// Whether the client sends the position of an earlier stream, which only the holder of that stream received.
    private func isReconnect(_ principal: Principal, _ request: EventStreamRequest) -> Bool {
        guard let text = request.lastEventID else { return false }
        let partitions = gateway.store.outbox.partitions
        return gateway.cursor.decode(text, partitions: partitions, for: principal) != nil
    }

    /// Whether a token is new enough for a URL.
    private func isInTime(_ principal: Principal) -> Bool {
        principal.age.map { $0 <= StreamGrant.urlLifetime } ?? false
    }

    /// Whether a reconnecting client has received every event of a settled source.
    private func isDone(
        _ request: EventStreamRequest,
        _ subscription: Subscription
    ) async -> Bool {
        guard request.source != nil else { return false }
        guard let watch = subscription.watch else {
            return await isDoneWithKinds(request, subscription)
        }
        let (seq, digest): (Int, String?)
        switch subscription.from {
        case .seq(let after): (seq, digest) = (after, nil)
        case .cursor(let text):
            let cursor = gateway.cursor.decode(
                text,
                partitions: gateway.store.outbox.partitions,
                for: subscription.principal
            )
            guard let mark = cursor?.mark, mark.watch == watch.id else { return false }
            (seq, digest) = (mark.seq, mark.digest)
        case .now, .snapshot: return false
        }
        // If the store cannot be read now, the stream handles it.
        guard seq > 0, let snapshot = try? await gateway.store.snapshot(of: watch) else {
            return false
        }
        guard snapshot.closed != nil, snapshot.watch.seq == seq else { return false }
        // Another event with this number was recorded after the store had lost the client's event.
        guard let digest, let newest = snapshot.newestDigest else { return true }
        return digest == newest
    }

    /// Whether a reconnecting client has received every event of a settled source that may have several kinds.
    ///
    /// Its cursor has no seq, so the entries after it are read. A cursor with a seq, or one in `since`, may be of
    /// another stream. Then the client has not received `done` from this one.
    private func isDoneWithKinds(
        _ request: EventStreamRequest,
        _ subscription: Subscription
    ) async -> Bool {
        guard let text = request.lastEventID, let source = subscription.sources?.first else {
            return false
        }
        let cursor = gateway.cursor.decode(
            text,
            partitions: gateway.store.outbox.partitions,
            for: subscription.principal
        )
        guard let cursor, cursor.mark == nil else { return false }
        let catchUp = CatchUp(
            subscription: subscription,
            store: gateway.store,
            cursors: gateway.cursor,
            deliver: { _, _ in false }
        )
        // If the store cannot be read now, the stream handles it.
        return (try? await catchUp.isDone(source, at: cursor.positions)) ?? false
    }

    private static var spentToken: Refusal {
        unauthenticated(
            "a token in a URL is for one connection within \(StreamGrant.urlLifetime.text) of its "
                + "making: make another with POST /v1/stream_tokens, or send it in a header"
        )
    }

    private static func unauthenticated(_ detail: String) -> Refusal {
        Refusal(status: .unauthorized, code: "unauthenticated", detail: detail)
    }
}

/// The response heads for one plain request, and complete short responses.
struct EventStreamResponse: Sendable {
    let request: HTTPRequestHead
    let allowedOrigins: Set<String>

    /// Returns the head of an event stream or of a response in its place.
    ///
    /// Intermediaries must neither store nor buffer it. A stream to an HTTP/1.0 client uses that version, because the
    /// client does not support chunks.
    func head(
        _ status: HTTPResponseStatus,
        type: String = "text/event-stream"
    ) -> HTTPResponseHead {
        var headers: HTTPHeaders = [
            "cache-control": "no-store",
            "x-accel-buffering": "no",
            "x-content-type-options": "nosniff",
            "connection": "close",
        ]
        if status != .noContent { headers.add(name: "content-type", value: type) }
        addOrigin(&headers)
        let version = HostField.isOld(request) ? HTTPVersion.http1_0 : .http1_1
        return HTTPResponseHead(version: version, status: status, headers: headers)
    }

    /// Returns a short response.
    func parts(_ status: HTTPResponseStatus, body: String = "") -> [HTTPServerResponsePart] {
        parts(head(status), body: body)
    }

    /// Returns the headers that a page of an allowed origin may send, and the time they may be cached.
    func preflight() -> [HTTPServerResponsePart] {
        var head = head(.noContent)
        head.headers.add(name: "access-control-allow-methods", value: "GET, HEAD")
        head.headers.add(
            name: "access-control-allow-headers",
            value: "authorization, last-event-id, cache-control"
        )
        head.headers.add(name: "access-control-max-age", value: "600")
        head.headers.add(name: "allow", value: "GET, HEAD, OPTIONS")
        return parts(head, body: "")
    }

    /// Returns a problem (RFC 9457).
    func problem(_ refusal: Refusal) -> [HTTPServerResponsePart] {
        var head = head(refusal.status, type: "application/problem+json")
        switch refusal.status {
        case .upgradeRequired:
            // RFC 9110 §15.5.22, and RFC 6455 §4.4 for clients of another version.
            head.headers.replaceOrAdd(name: "connection", value: "upgrade, close")
            head.headers.add(name: "upgrade", value: "websocket")
            head.headers.add(name: "sec-websocket-version", value: "13")
        case .methodNotAllowed: head.headers.add(name: "allow", value: "GET, HEAD, OPTIONS")
        case .unauthorized: head.headers.add(name: "www-authenticate", value: "Bearer")
        default: break
        }
        if let wait = refusal.retryAfter {
            head.headers.add(name: "retry-after", value: String(wait.components.seconds))
        }
        return parts(head, body: refusal.problem)
    }

    /// Returns a complete response.
    ///
    /// For `HEAD` it ends with the head, because the encoder would otherwise write a last
    /// chunk.
    private func parts(_ head: HTTPResponseHead, body: String) -> [HTTPServerResponsePart] {
        var head = head
        if head.status != .noContent, !body.isEmpty {
            head.version = .http1_1
            head.headers.add(name: "content-length", value: String(body.utf8.count))
        }
        guard request.method != .HEAD else { return [.head(head)] }
        let text: [HTTPServerResponsePart] =
            body.isEmpty ? [] : [.body(.byteBuffer(ByteBuffer(string: body)))]
        return [.head(head)] + text + [.end(nil)]
    }

    /// Lets a page of an allowed origin read the response.
    private func addOrigin(_ headers: inout HTTPHeaders) {
        headers.add(name: "vary", value: "origin")
        guard let origin = request.headers.first(name: "origin"), allowedOrigins.contains(origin)
        else { return }
        headers.add(name: "access-control-allow-origin", value: origin)
    }
}
