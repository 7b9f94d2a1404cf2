/// The timing of one event stream, without its socket: heartbeats and the reasons to end it.
///
/// Times are spans since the stream began. ``deadline`` is the time of the next call of ``tick(now:)``.
struct EventStreamSession: Sendable {
    /// An action for the caller.
    enum Action: Hashable, Sendable {
        case heartbeat
        /// Sends a goodbye and ends.
        case end(CloseCode, reason: String)
    }

    private let heartbeatEvery: Duration
    private var nextHeartbeat: Duration
    private var end: SessionEnd
    private var isOver = false

    /// Creates a session that begins at time zero.
    ///
    /// Each stream has a different time of rotation, so that streams opened together do not end together.
    init(limits: GatewayLimits, rotateAt: Duration, validFor: Duration?) {
        heartbeatEvery = limits.heartbeatInterval
        nextHeartbeat = limits.heartbeatInterval
        end = SessionEnd(expiresAt: validFor, rotateAt: rotateAt)
    }

    /// The time of the next tick, or `nil` when the stream is over.
    var deadline: Duration? {
        isOver ? nil : min(nextHeartbeat, end.deadline ?? nextHeartbeat)
    }

    /// Ends the stream at `instant`, because the process drains.
    ///
    /// The instant differs between streams.
    mutating func drain(at instant: Duration) {
        end.drain(at: instant)
    }

    /// Stops the timing.
    mutating func finish() {
        isOver = true
    }

    /// Handles a deadline that has passed.
    mutating func tick(now: Duration) -> Action? {
        guard !isOver else { return nil }
        if let (code, reason) = end.due(now: now) { return .end(code, reason: reason) }
        guard now >= nextHeartbeat else { return nil }
        nextHeartbeat = now + heartbeatEvery
        return .heartbeat
    }
}
