/// Which of a link's failures are worth a line in the log.
///
/// The first of an outage is, then at most one each `interval`, which tells how many there were: a
/// Redis that is down for an hour shall not bury everything else. An outage ends once a connection
/// has held, so a server that accepts and drops everybody is one outage. No I/O, no clock.
struct RedisOutageLog {
    private let interval: Duration
    private var lastLine: RedisInstant?
    private var silent = 0
    private var hasToldRecovery = false

    init(interval: Duration) {
        self.interval = interval
    }

    /// A failure, the `attempt`-th since a connection last held; returns how many failures the line
    /// stands for, or `nil` to say nothing.
    mutating func failed(attempt: Int, now: RedisInstant) -> Int? {
        silent += 1
        if attempt > 1, let lastLine, now < lastLine + interval { return nil }
        defer { silent = 0 }
        lastLine = now
        hasToldRecovery = false
        return silent
    }

    /// A connection is ready; returns whether to say so: once for each failure that was told.
    mutating func recovered() -> Bool {
        defer { hasToldRecovery = true }
        return !hasToldRecovery
    }
}
