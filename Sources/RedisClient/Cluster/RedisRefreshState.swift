/// When the map of slots is read: one reading at a time, and not too often.
///
/// A thousand commands that are redirected in one instant want it a thousand times; that makes one
/// reading now and one ``spacing`` later. No I/O, no clock.
struct RedisRefreshState {
    /// The shortest time between two readings: nodes gossip a change within about as long.
    static let spacing = Duration.milliseconds(100)

    private let calmInterval: Duration
    private let troubleInterval: Duration
    private var isReading = false
    private var isWantedAgain = false
    private var lastStart: RedisInstant?

    init(calmInterval: Duration, troubleInterval: Duration) {
        self.calmInterval = calmInterval
        self.troubleInterval = troubleInterval
    }

    /// Somebody found the map wanting; returns when to read, or `nil` if that follows from the
    /// reading under way.
    mutating func want(now: RedisInstant) -> RedisInstant? {
        if isReading {
            isWantedAgain = true
            return nil
        }
        return next(after: Self.spacing, now)
    }

    /// Time has come; `false` means that a reading is under way.
    mutating func begin(now: RedisInstant) -> Bool {
        guard !isReading else { return false }
        isReading = true
        lastStart = now
        return true
    }

    /// The reading is over; returns when to begin the next: late if `isCalm`, soon if something needs
    /// watching.
    mutating func finished(now: RedisInstant, isCalm: Bool) -> RedisInstant {
        isReading = false
        defer { isWantedAgain = false }
        if isWantedAgain { return next(after: Self.spacing, now) }
        return next(after: isCalm ? calmInterval : troubleInterval, now)
    }

    private func next(after interval: Duration, _ now: RedisInstant) -> RedisInstant {
        lastStart.map { max(now, $0 + interval) } ?? now
    }
}
