import Poller

/// The time of one live connection: spans since it began, as its session counts them, and the
/// waking at the session's deadlines.
///
/// A session is a value that knows no clock: it says when it wants to be asked next, and is asked
/// then. Whoever changes a session so that its deadline may be nearer calls ``deadlineChanged()``.
struct ConnectionTimer<C: Clock>: Sendable where C.Duration == Duration, C.Instant: Sendable {
    private let clock: C
    private let start: C.Instant
    private let waker: Waker<C>

    /// A timer that begins now.
    init(_ clock: C) {
        self.clock = clock
        start = clock.now
        waker = Waker(clock: clock)
    }

    /// What has passed since the connection began.
    var now: Duration { start.duration(to: clock.now) }

    /// Calls `tick` at each deadline, until there is none or the task is cancelled.
    func run(deadline: () -> Duration?, tick: () -> Void) async {
        while !Task.isCancelled, let deadline = deadline() {
            await waker.sleep(until: start.advanced(by: deadline))
            tick()
        }
    }

    /// Looks again when the next deadline is.
    func deadlineChanged() {
        waker.wake()
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
