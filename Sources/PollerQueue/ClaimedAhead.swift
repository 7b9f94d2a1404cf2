/// The claimed items that have not started, by start time; items of the same instant are in order of arrival.
///
/// The last element is the next to start, so that removing it moves no other: hundreds may be held, and a few of them
/// start at a time.
struct ClaimedAhead<Item: Sendable, Change: Sendable, Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    typealias Work = InFlight<Item, Change, Instant>.Work

    /// The time that an item claimed ahead may wait for others that start soon after it, so that a timer, a wake and a
    /// pass of the event loop serve several items.
    ///
    /// It is part of the possible delay of a poll.
    static var gatherSpan: Duration { .milliseconds(3) }
    /// The number of items that start without a further wait.
    static var enough: Int { 16 }
    /// The maximum wait for a slot before an item is released: the longest allowed delay of its start.
    ///
    /// At least `SlowRecipientLimiter.patience`, after which a delivery releases its slot. Every slot has been released
    /// once by then, unless all handlers that may continue without one do. A test checks the relation.
    static var slotWait: Duration { .seconds(1) }

    private var latestFirst: [Work] = []

    /// The number of items.
    var count: Int { latestFirst.count }

    /// Whether there are no items.
    var isEmpty: Bool { latestFirst.isEmpty }

    /// Returns the start time of the next items; without a free slot, the time of their release.
    func nextInstant(hasSlot: Bool) -> Instant? {
        guard let next = latestFirst.last else { return nil }
        guard hasSlot else { return next.startsAt.advanced(by: Self.slotWait) }
        // It was due when it was claimed.
        if next.startsAt <= next.answered { return next.startsAt }
        let last = next.startsAt.advanced(by: Self.gatherSpan)
        guard latestFirst.count >= Self.enough else { return last }
        return min(last, latestFirst[latestFirst.count - Self.enough].startsAt)
    }

    /// Adds an item after those with the same start time.
    mutating func add(_ work: Work) {
        // A claim returns the earliest items first, and they are usually later than the existing ones.
        let index = latestFirst.firstIndex { $0.startsAt <= work.startsAt }
        latestFirst.insert(work, at: index ?? latestFirst.endIndex)
    }

    /// Removes and returns up to `limit` items that start now, the earliest first.
    mutating func begin(limit: Int, now: Instant) -> [Work] {
        take(until: now, limit: limit)
    }

    /// Removes and returns the items that have waited too long for a slot.
    mutating func takeTimedOut(now: Instant) -> [Work] {
        take(until: now.advanced(by: .zero - Self.slotWait), limit: .max)
    }

    /// Removes and returns all items, the earliest first.
    mutating func takeAll() -> [Work] {
        defer { latestFirst = [] }
        return latestFirst.reversed()
    }

    private mutating func take(until instant: Instant, limit: Int) -> [Work] {
        var taken: [Work] = []
        while taken.count < limit, let next = latestFirst.last, next.startsAt <= instant {
            taken.append(latestFirst.removeLast())
        }
        return taken
    }
}
