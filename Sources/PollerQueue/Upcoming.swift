/// Claimed items that nobody has started, by when they begin; those of the same instant in the order they
/// came.
///
/// The last element is the next to begin, so that taking it moves no other: hundreds may be held, and a few
/// of them begin at a time.
struct Upcoming<Item: Sendable, Change: Sendable, Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    typealias Work = InFlight<Item, Change, Instant>.Work

    /// How long items may gather after others have begun, so that a timer, a wake and a turn of the event
    /// loop serve more than one.
    ///
    /// It is part of how late a poll may be.
    static var gatherSpan: Duration { .milliseconds(3) }
    /// How long one may wait for a place before it is given back: as long as its turn may be late at all.
    ///
    /// Not shorter than `SlowReceivers.patience`, after which a delivery leaves its place: who waits has
    /// seen every place come free by then, unless all that may go on without one do. A test holds them so.
    static var placeWait: Duration { .seconds(1) }

    private var latestFirst: [Work] = []
    /// When some have begun last.
    private var beganAt: Instant

    /// Holds nothing.
    init(now: Instant) {
        beganAt = now
    }

    /// How many are held.
    var count: Int { latestFirst.count }

    /// Whether there is none.
    var isEmpty: Bool { latestFirst.isEmpty }

    /// When to begin the next; without a place, when to give it back.
    func nextInstant(hasPlace: Bool) -> Instant? {
        latestFirst.last.map {
            hasPlace
                ? max($0.startsAt, beganAt.advanced(by: Self.gatherSpan))
                : $0.startsAt.advanced(by: Self.placeWait)
        }
    }

    /// One more, behind those that begin at the same instant.
    mutating func add(_ work: Work) {
        // A claim brings the earliest first, and mostly later ones than it finds.
        let index = latestFirst.firstIndex { $0.startsAt <= work.startsAt }
        latestFirst.insert(work, at: index ?? latestFirst.endIndex)
    }

    /// At most `limit` of those that begin now, the earliest first.
    mutating func begin(limit: Int, now: Instant) -> [Work] {
        let begun = take(until: now, limit: limit)
        if !begun.isEmpty { beganAt = now }
        return begun
    }

    /// Those that have waited for a place for too long.
    mutating func giveUp(now: Instant) -> [Work] {
        take(until: now.advanced(by: .zero - Self.placeWait), limit: .max)
    }

    /// All of them, the earliest first.
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
