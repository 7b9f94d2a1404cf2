/// The clock of one event stream, without its socket: heartbeats, and the reasons to end it.
///
/// Times are spans since the stream began. ``deadline`` says when to call ``tick(now:)`` next.
struct EventStreamSession: Sendable {
    /// What is to be done.
    enum Action: Hashable, Sendable {
        case heartbeat
        /// Says goodbye and ends.
        case end(CloseCode, reason: String)
    }

    private let heartbeatEvery: Duration
    private var nextHeartbeat: Duration
    private var end: SessionEnd
    private var isOver = false

    /// A stream that begins at time zero and is rotated at its own moment, so that streams made
    /// together do not end together.
    init(limits: GatewayLimits, rotateAt: Duration, validFor: Duration?) {
        heartbeatEvery = limits.heartbeatInterval
        nextHeartbeat = limits.heartbeatInterval
        end = SessionEnd(expiresAt: validFor, rotateAt: rotateAt)
    }

    /// When to tick next; nil when the stream is over.
    var deadline: Duration? {
        isOver ? nil : min(nextHeartbeat, end.deadline ?? nextHeartbeat)
    }

    /// The process drains: ends the stream at `instant`, which differs between streams.
    mutating func drain(at instant: Duration) {
        end.drain(at: instant)
    }

    /// Ends the clock.
    mutating func finish() {
        isOver = true
    }

    /// A deadline has passed.
    mutating func tick(now: Duration) -> Action? {
        guard !isOver else { return nil }
        if let (code, reason) = end.due(now: now) { return .end(code, reason: reason) }
        guard now >= nextHeartbeat else { return nil }
        nextHeartbeat = now + heartbeatEvery
        return .heartbeat
    }
}
