/// Why the gateway ends a connection: 4000–4099 do not reconnect as you are, 4100–4199 reconnect
/// with your cursor after a random wait, 4200 there is nothing more to come.
enum CloseCode: Int, Hashable, Sendable {
    /// A frame that breaks RFC 6455.
    case protocolError = 1002
    /// A text that is not UTF-8.
    case notText = 1007
    /// A frame that is no message of the protocol.
    case badMessage = 4000
    /// No credentials within 5 s.
    case authTimeout = 4001
    /// Unknown credentials, or a message before any.
    case forbidden = 4003
    /// More subscriptions than a connection may have.
    case tooManySubscriptions = 4009
    /// More connections than these credentials may have.
    case tooManyConnections = 4010
    /// The store cannot be reached.
    case unavailable = 4100
    /// This process is shutting down; another takes over.
    case draining = 4101
    /// The connection is old; a new one may find a less busy process.
    case rotated = 4102
    /// The credentials have run out.
    case tokenExpired = 4105
    /// The client reads slower than events come.
    case slowConsumer = 4108
    /// More messages than a client may send.
    case rateLimited = 4129
    /// Every source that was asked for is settled.
    case settled = 4200

    /// The waits, in ms, among which a client picks at random before it comes back; nil when it
    /// should not.
    var retryMs: ClosedRange<Int>? {
        (4100..<4200).contains(rawValue) ? 500...8000 : nil
    }
}

/// When a connection ends whatever its client does: its credentials run out, the process drains, or
/// it has grown old.
struct SessionEnd: Hashable, Sendable {
    /// When the credentials end; nil before there are any, and for those that do not.
    var expiresAt: Duration?
    /// When a new connection may find a less busy process; nil for connections that may grow old.
    var rotateAt: Duration?
    private var drainAt: Duration?

    /// Ends at these instants, of those that there are.
    init(expiresAt: Duration? = nil, rotateAt: Duration? = nil) {
        self.expiresAt = expiresAt
        self.rotateAt = rotateAt
    }

    /// The first of them.
    var deadline: Duration? { [expiresAt, rotateAt, drainAt].compactMap(\.self).min() }

    /// The process drains: the connection ends at `instant`, which differs between connections.
    mutating func drain(at instant: Duration) {
        drainAt = min(drainAt ?? instant, instant)
    }

    /// Why it ends now; nil when it does not.
    func due(now: Duration) -> (code: CloseCode, reason: String)? {
        if let expiresAt, now >= expiresAt { return (.tokenExpired, "the token has expired") }
        if let drainAt, now >= drainAt { return (.draining, "this process is shutting down") }
        if let rotateAt, now >= rotateAt { return (.rotated, "come back with your last id") }
        return nil
    }
}
