import Poller
import PollerIdentity
import PollerWire

/// One live connection's protocol, without its socket: what comes in, what is to be done.
///
/// ```
/// authenticating ──auth──▶ open ──close──▶ closing ──their close frame, or 3 s──▶ closed
///        └── 5 s, or a bad key ──────────────▲
/// ```
/// Times are spans since the connection began. ``deadline`` says when to call ``tick(now:)`` next.
///
/// *Rejections*: what a client may mend is answered with an `error` and goes on (a subscription that
/// cannot be, an operation that does not exist). What says that it does not speak the protocol, or
/// takes more than its share, closes the connection, because whoever does it once does it again.
/// *Pings*: one is out at a time. A pong that is late cuts the connection without a goodbye: nobody
/// would read it.
struct WebSocketSession: Sendable {
    /// What the session wants done.
    enum Action: Hashable, Sendable {
        /// Sends a text message.
        case send(String)
        /// Finds out whose credentials these are and reports it with `authenticated`.
        case authenticate(Authorizer.Credentials)
        /// Starts sending what a subscription asks for.
        case subscribe(Subscription)
        /// Stops a subscription.
        case unsubscribe(String)
        /// Sends a ping frame.
        case ping
        /// Says goodbye, sends the close frame and sends nothing more.
        case close(CloseCode, reason: String)
        /// Cuts the connection.
        case cut
    }

    /// How far the connection has come.
    private enum Phase: Hashable, Sendable {
        case authenticating(until: Duration)
        case open(Principal)
        case closing(until: Duration)
        case closed
    }

    private let limits: GatewayLimits
    private let pingEvery: Duration
    private var phase: Phase
    private var nextPing: Duration
    /// Until when the pong of the last ping must have come; nil when none is out.
    private var pongUntil: Duration?
    private var end = SessionEnd()
    /// Of credentials good for some sources only: those that are not settled.
    private var unsettled: Set<SourceID>?
    private var subscriptions: Set<String> = []
    /// Counts on, so that a name is never given twice: what comes late for an old one is known as such.
    private var subscriptionsMade = 0
    private var secondBegan = Duration.zero
    private var messagesInSecond = 0

    /// A session that begins at time zero.
    ///
    /// `pingEvery` is this connection's own interval, jittered so that connections made together
    /// are not pinged together.
    init(limits: GatewayLimits, pingEvery: Duration) {
        self.limits = limits
        self.pingEvery = pingEvery
        phase = .authenticating(until: limits.authTimeout)
        nextPing = pingEvery
    }

    /// Who has authenticated; nil before, kept for the goodbye.
    private(set) var principal: Principal?

    /// Whether the close frame has been sent.
    var isEnding: Bool {
        switch phase {
        case .authenticating, .open: false
        case .closing, .closed: true
        }
    }

    /// When to tick next; nil when the session is over.
    var deadline: Duration? {
        switch phase {
        case .authenticating(let until): min(until, end.deadline ?? until)
        case .open: [pongUntil ?? nextPing, end.deadline].compactMap(\.self).min()
        case .closing(let until): until
        case .closed: nil
        }
    }

    /// The connection is there, perhaps with a key in its request, or a name that needs none.
    mutating func open(token: String?, known: Principal?) -> [Action] {
        if let token { return [.authenticate(.token(token))] }
        return known.map { authenticated(.admitted($0), now: .zero) } ?? []
    }

    /// Credentials have been looked up.
    mutating func authenticated(
        _ admission: Authorizer.Admission,
        now: Duration
    ) -> [Action] {
        guard case .authenticating = phase else { return [] }
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

    /// A source has settled, and the client has been told.
    ///
    /// With credentials that are good for settled sources only there is nothing more to come.
    mutating func settled(_ source: SourceID, now: Duration) -> [Action] {
        unsettled?.remove(source)
        guard unsettled?.isEmpty ?? false else { return [] }
        return close(.settled, "every source is settled", now: now)
    }

    /// A text message has come.
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
            if let shown = try message.credentials() { return [.authenticate(shown)] }
            let reason = "auth needs a token, or a source and its client_secret"
            return close(.badMessage, reason, now: now)
        } catch {
            return close(.badMessage, "\(error)", now: now)
        }
    }

    /// A pong has come.
    mutating func pongReceived(now: Duration) {
        guard pongUntil != nil else { return }
        pongUntil = nil
        nextPing = now + pingEvery
    }

    /// The peer's close frame has come, or its end of the stream.
    mutating func closeReceived() {
        phase = .closed
    }

    /// A deadline has passed.
    mutating func tick(now: Duration) -> [Action] {
        if !isEnding, let (code, reason) = end.due(now: now) {
            return close(code, reason, now: now)
        }
        switch phase {
        case .authenticating(let until) where now >= until:
            return close(.authTimeout, "no credentials in time", now: now)
        case .open where pongUntil.map { now >= $0 } ?? false:
            phase = .closed
            return [.cut]
        case .open where pongUntil == nil && now >= nextPing:
            pongUntil = now + limits.pongTimeout
            return [.ping]
        case .closing(let until) where now >= until:
            phase = .closed
            return [.cut]
        case .authenticating, .open, .closing, .closed: return []
        }
    }

    /// The process drains: ends the session at `instant`, which differs between connections.
    mutating func drain(at instant: Duration) {
        guard !isEnding else { return }
        end.drain(at: instant)
    }

    /// Ends the session for a reason of its surroundings.
    mutating func close(
        _ code: CloseCode,
        _ reason: String,
        now: Duration
    ) -> [Action] {
        guard !isEnding else { return [] }
        // A client that has not kept up needs a moment to get to the close frame.
        let span = code == .slowConsumer ? limits.pongTimeout : limits.closeTimeout
        phase = .closing(until: now + span)
        return [.close(code, reason: reason)]
    }

    /// A subscription could not be started or has ended by itself.
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
