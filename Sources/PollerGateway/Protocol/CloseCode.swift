/// The reason why the gateway ends a connection.
///
/// The range tells the client how to react:
/// - 4000–4099: do not reconnect unchanged.
/// - 4100–4199: reconnect with the last cursor after a random wait.
/// - 4200: nothing more will follow.
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
    /// The store is unavailable.
    case unavailable = 4100
    /// This process is shutting down, and another takes over.
    case draining = 4101
    /// The connection is old. A new one may find a less busy process.
    case rotated = 4102
    /// The credentials have expired.
    case tokenExpired = 4105
    /// The client reads more slowly than events arrive.
    case slowConsumer = 4108
    /// The client sent too many messages.
    case rateLimited = 4129
    /// Every requested source is settled.
    case settled = 4200

    /// The range, in ms, from which a client picks its random wait, or `nil` if it should not reconnect.
    var retryMs: ClosedRange<Int>? {
        (4100..<4200).contains(rawValue) ? 500...8000 : nil
    }
}

/// The times at which a connection ends regardless of its client: expiry, drain, or rotation.
struct SessionEnd: Hashable, Sendable {
    /// The time at which the credentials expire.
    ///
    /// `nil` before authentication and for credentials without expiry.
    var expiresAt: Duration?
    /// The time after which a new connection may find a less busy process.
    ///
    /// `nil` means no rotation.
    var rotateAt: Duration?
    private var drainAt: Duration?

    init(expiresAt: Duration? = nil, rotateAt: Duration? = nil) {
        self.expiresAt = expiresAt
        self.rotateAt = rotateAt
    }

    /// The earliest of these times.
    var deadline: Duration? { [expiresAt, rotateAt, drainAt].compactMap(\.self).min() }

    /// Ends the connection at `instant`, because the process drains.
    ///
    /// The instant differs between connections.
    mutating func drain(at instant: Duration) {
        drainAt = min(drainAt ?? instant, instant)
    }

    /// Returns the reason to end now, or `nil` if there is none.
    func due(now: Duration) -> (code: CloseCode, reason: String)? {
        if let expiresAt, now >= expiresAt { return (.tokenExpired, "the token has expired") }
        if let drainAt, now >= drainAt { return (.draining, "this process is shutting down") }
        if let rotateAt, now >= rotateAt { return (.rotated, "come back with your last id") }
        return nil
    }
}
