import PollerIdentity
import PollerWire

/// The protocol of one live connection, without its socket: input and the resulting actions.
///
/// ```
/// authenticating ──auth──▶ checking ──good──▶ open ──close──▶ closing ──their close frame, or 3 s──▶ closed
///        └── 5 s ─────────────┴── bad, or 5 s ──────────────────▲
/// ```
/// The 5 s are from connecting. A client without credentials by then must not come back unchanged. One whose
/// credentials were not checked in time, because the store is slow, should reconnect.
///
/// Times are spans since the connection began. ``deadline`` is the time of the next call of ``tick(now:)``.
///
/// *Rejections*: a mistake that the client can correct is answered with an `error`, and the connection continues.
/// Examples are an impossible subscription and an unknown operation. A message outside the protocol, or beyond the
/// limits, closes the connection, because such a client will repeat it.
///
/// *Pings*: one is pending at a time. A late pong cuts the connection without a goodbye, because the client would not
/// read it.
struct WebSocketSession: Sendable {
    /// An action for the caller.
    enum Action: Hashable, Sendable {
        /// Sends a text message.
        case send(String)
        /// Checks the credentials and reports the result with `authenticated`.
        case authenticate(Authorizer.Credentials)
        /// Starts a subscription.
        case subscribe(Subscription)
        /// Stops a subscription.
        case unsubscribe(String)
        /// Sends a ping frame.
        case ping
        /// Sends a goodbye and the close frame, and nothing after them.
        case close(CloseCode, reason: String)
        /// Closes the socket.
        case cut
    }

    /// The phase of the connection.
    private enum Phase: Hashable, Sendable {
        case authenticating(until: Duration)
        /// The client has sent credentials, and the result of their check is awaited.
        case checking(until: Duration)
        case open(Principal)
        case closing(until: Duration)
        case closed
    }

    private let limits: GatewayLimits
    private let pingEvery: Duration
    private var phase: Phase
    private var nextPing: Duration
    /// The deadline for the pong of the last ping, or `nil` if none is pending.
    private var pongUntil: Duration?
    private var end = SessionEnd()
    /// The unsettled sources, for credentials limited to some sources.
    private var unsettled: Set<SourceID>?
    private var subscriptions: Set<String> = []
    /// Never decreases, so that a name is not reused and a late message for an old one is recognized.
    private var subscriptionsMade = 0
    private var secondBegan = Duration.zero
    private var messagesInSecond = 0

    /// Creates a session that begins at time zero.
    ///
    /// `pingEvery` is this connection's ping interval, jittered so that connections opened together are not pinged
    /// together.
    init(limits: GatewayLimits, pingEvery: Duration) {
        self.limits = limits
        self.pingEvery = pingEvery
        phase = .authenticating(until: limits.authTimeout)
        nextPing = pingEvery
    }

    /// The authenticated principal, or `nil` before authentication.
    ///
    /// It is kept for the goodbye.
    private(set) var principal: Principal?

    /// Whether the close frame has been sent.
    var isEnding: Bool {
        switch phase {
        case .authenticating, .checking, .open: false
        case .closing, .closed: true
        }
    }

    /// The time of the next tick, or `nil` when the session is over.
    var deadline: Duration? {
        switch phase {
        case .authenticating(let until), .checking(let until): min(until, end.deadline ?? until)
        case .open: [pongUntil ?? nextPing, end.deadline].compactMap(\.self).min()
        case .closing(let until): until
        case .closed: nil
        }
    }

    /// Handles a new connection, possibly with a key in its request or a principal that needs none.
    mutating func open(token: String?, anonymous: Principal?) -> [Action] {
        if let token { return check(.token(token)) }
        return anonymous.map { authenticated(.admitted($0), now: .zero) } ?? []
    }

    /// Handles the result of a credentials check.
    mutating func authenticated(
        _ admission: Authorizer.Admission,
        now: Duration
    ) -> [Action] {
        switch phase {
        case .authenticating, .checking: break
        case .open, .closing, .closed: return []
        }
        switch admission {
        case .refused(let code, let reason): return close(code, reason, now: now)
        case .admitted(let principal):
            phase = .open(principal)
            self.principal = principal
            end.expiresAt = principal.validFor.map { now + $0 }
            unsettled = principal.sources
            return [.send(ServerMessage.hello(limits))]
        }
    }

    /// Handles a settled source after the message about it was sent.
    ///
    /// If the credentials cover settled sources only, nothing more will follow.
    mutating func settled(_ source: SourceID, now: Duration) -> [Action] {
        unsettled?.remove(source)
        guard unsettled?.isEmpty ?? false else { return [] }
        return close(.settled, "every source is settled", now: now)
    }

    /// Handles a text message.
    mutating func receive(_ text: String, now: Duration) -> [Action] {
        guard !isEnding else { return [] }
        if now - secondBegan >= .seconds(1) { (secondBegan, messagesInSecond) = (now, 0) }
        messagesInSecond += 1
        guard messagesInSecond <= limits.messagesPerSecond else {
            return close(.rateLimited, "more than \(limits.messagesPerSecond) a second", now: now)
        }
        guard let message = ClientMessage(text) else {
            return close(.badMessage, "not a message of poller.v1.json", now: now)
        }
        if case .open(let principal) = phase { return perform(message, principal, now: now) }
        guard message.op == "auth" else {
            return close(.forbidden, "authenticate first", now: now)
        }
        do throws(InvalidInput) {
            if let presented = try message.credentials() { return check(presented) }
            let reason = "auth needs a token, or a source and its client_secret"
            return close(.badMessage, reason, now: now)
        } catch {
            return close(.badMessage, "\(error)", now: now)
        }
    }

    /// Handles a pong.
    mutating func pongReceived(now: Duration) {
        guard pongUntil != nil else { return }
        pongUntil = nil
        nextPing = now + pingEvery
    }

    /// Handles the peer's close frame or end of stream.
    mutating func closeReceived() {
        phase = .closed
    }

    /// Handles a deadline that has passed.
    mutating func tick(now: Duration) -> [Action] {
        if !isEnding, let (code, reason) = end.due(now: now) {
            return close(code, reason, now: now)
        }
        switch phase {
        case .authenticating(let until) where now >= until:
            return close(.authTimeout, "no credentials in time", now: now)
        case .checking(let until) where now >= until:
            return close(.unavailable, "the credentials cannot be checked now", now: now)
        case .open where pongUntil.map { now >= $0 } ?? false:
            phase = .closed
            return [.cut]
        case .open where pongUntil == nil && now >= nextPing:
            pongUntil = now + limits.pongTimeout
            return [.ping]
        case .closing(let until) where now >= until:
            phase = .closed
            return [.cut]
        case .authenticating, .checking, .open, .closing, .closed: return []
        }
    }

    /// Ends the session at `instant`, because the process drains.
    ///
    /// The instant differs between connections.
    mutating func drain(at instant: Duration) {
        guard !isEnding else { return }
        end.drain(at: instant)
    }

    /// Ends the session for an external reason.
    mutating func close(
        _ code: CloseCode,
        _ reason: String,
        now: Duration
    ) -> [Action] {
        guard !isEnding else { return [] }
        // A client that has fallen behind needs more time to reach the close frame.
        let span = code == .slowConsumer ? limits.pongTimeout : limits.closeTimeout
        phase = .closing(until: now + span)
        return [.close(code, reason: reason)]
    }

    /// Checks the credentials that the client has sent.
    private mutating func check(_ credentials: Authorizer.Credentials) -> [Action] {
        if case .authenticating(let until) = phase { phase = .checking(until: until) }
        return [.authenticate(credentials)]
    }

    /// Removes a subscription that could not be started or has ended.
    mutating func ended(sub: String) {
        subscriptions.remove(sub)
    }

    private mutating func perform(
        _ message: ClientMessage,
        _ principal: Principal,
        now: Duration
    ) -> [Action] {
        switch message.op {
        case "ping": return [.send(ServerMessage.pong)]
        case "subscribe": return subscribe(message, principal, now: now)
        case "unsubscribe":
            guard let sub = message.sub, subscriptions.remove(sub) != nil else {
                return [error(message, "unknown_subscription", "there is no such subscription")]
            }
            return [.unsubscribe(sub), .send(ServerMessage.unsubscribed(sub: sub))]
        case "auth":
            return [error(message, "already_authenticated", "this connection is open already")]
        default:
            return [error(message, "unknown_op", "must be subscribe, unsubscribe or ping")]
        }
    }

    private mutating func subscribe(
        _ message: ClientMessage,
        _ principal: Principal,
        now: Duration
    ) -> [Action] {
        guard subscriptions.count < limits.subscriptionsMax else {
            let reason = "at most \(limits.subscriptionsMax) subscriptions"
            return close(.tooManySubscriptions, reason, now: now)
        }
        do throws(InvalidInput) {
            let subscription = try Subscription.parse(
                message,
                id: "s\(subscriptionsMade + 1)",
                principal: principal,
                limits: limits
            )
            subscriptionsMade += 1
            subscriptions.insert(subscription.id)
            return [.subscribe(subscription)]
        } catch {
            return [self.error(message, "bad_request", "\(error)")]
        }
    }

    private func error(
        _ message: ClientMessage,
        _ code: String,
        _ text: String
    ) -> Action {
        .send(ServerMessage.error(ref: message.ref?.value, code: code, message: text))
    }
}
