import NIOCore
import NIOHTTP1
import Poller
import PollerNet

/// Decides what a request for an event stream is answered.
///
/// A browser's EventSource never comes back after a 429 or a 503, and stops at a 204. So what may
/// work later is always a 200 that says when to come back, and a 204 says that the source is
/// settled and the client has been told.
struct EventStreamResponder<Events: Outbox, Store: WatchStore, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    /// What a request is answered.
    enum Answer: Sendable {
        /// Held as long as the stream lasts.
        case stream(Subscription, Places.Place)
        /// There is nothing more to come: 204.
        case done
        /// Not now: 200, and when to come back.
        case later
        /// What a browser asks before it sends headers of its own: 204.
        case preflight
        case refused(Refusal)
    }

    static var methods: String { "GET, HEAD, OPTIONS" }

    let gateway: GatewayCore<Events, Store, C>
    let allowedOrigins: Set<String>

    /// Decides; `address` is the client's.
    func answer(_ head: HTTPRequestHead, from address: IPAddress?) async -> Answer {
        do throws(Refusal) {
            try checkOrigin(head)
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
            let subscription: Subscription
            do throws(InvalidInput) {
                subscription = try request.subscription(for: principal, limits: gateway.limits)
            } catch {
                throw Refusal(status: .badRequest, code: "invalid_parameter", detail: "\(error)")
            }
            if request.source != nil, await isDone(subscription) { return .done }
            guard let place = gateway.slots.place(of: principal) else { return .later }
            return .stream(subscription, place)
        } catch {
            return .refused(error)
        }
    }

    /// Browsers send it when a page of another origin asks, and let any page ask anywhere.
    private func checkOrigin(_ head: HTTPRequestHead) throws(Refusal) {
        guard head.headers["origin"].allSatisfy(allowedOrigins.contains) else {
            throw Refusal(
                status: .forbidden,
                code: "origin_not_allowed",
                detail: "this origin is not on the allow-list"
            )
        }
    }

    /// Who asks; nil when that cannot be found out now.
    private func principal(
        _ request: EventStreamRequest,
        _ head: HTTPRequestHead,
        _ address: IPAddress?
    ) async throws(Refusal) -> Principal? {
        let known = gateway.authorizer.anonymous(head, from: address)
        var shown: [Authorizer.Credentials] = []
        if let text = request.credentials {
            shown.append(.token(text))
            let watch: WatchKey?
            do throws(InvalidInput) {
                watch = try request.watch()
            } catch {
                throw Refusal(status: .badRequest, code: "invalid_parameter", detail: "\(error)")
            }
            if let watch { shown.append(.secret(watch, text)) }
        } else if let text = request.query["token"] {
            return try await principal(queryToken: text)
        } else if let known {
            return known
        } else if gateway.authorizer.keys.anonymous != nil {
            throw Refusal(
                status: .forbidden,
                code: "not_local",
                detail: "this server has no API keys and serves only 127.0.0.1 and localhost, and "
                    + "nothing that a proxy has passed on"
            )
        }
        var isUnavailable = false
        for credentials in shown {
            switch await gateway.authorizer.admit(credentials, known: known) {
            case .admitted(let principal): return principal
            case .refused(.unavailable, _): isUnavailable = true
            case .refused: continue
            }
        }
        if isUnavailable { return nil }
        throw Self.unauthenticated(
            shown.isEmpty
                ? "send Authorization: Bearer with a key, a stream token or the source's own secret"
                : "these credentials are not known, or have expired"
        )
    }

    /// URLs end in logs: only a token that will have ended soon may be in one.
    private func principal(queryToken text: String) async throws(Refusal) -> Principal {
        if let principal = await gateway.authorizer.tokens?.principal(streamToken: text) {
            return principal
        }
        throw Self.unauthenticated(
            "token must be a stream token that has not expired: POST /v1/stream_tokens makes one"
        )
    }

    /// Whether a client that comes back has been told everything about a settled source.
    private func isDone(_ subscription: Subscription) async -> Bool {
        guard let watch = subscription.watch else { return false }
        let seq: Int
        switch subscription.from {
        case .seq(let after): seq = after
        case .cursor(let text):
            let cursor = gateway.cursor.decode(
                text,
                partitions: gateway.outbox.partitions,
                for: subscription.principal
            )
            guard let mark = cursor?.mark, mark.watch == watch.id else { return false }
            seq = mark.seq
        case .now, .snapshot: return false
        }
        // Whoever cannot be told now is told on the stream.
        guard seq > 0, let snapshot = try? await gateway.watches.snapshot(of: watch) else {
            return false
        }
        return snapshot.closed != nil && snapshot.watch.seq == seq
    }

    private static func unauthenticated(_ detail: String) -> Refusal {
        Refusal(status: .unauthorized, code: "unauthenticated", detail: detail)
    }
}
