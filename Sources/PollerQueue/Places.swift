/// How many items a worker may take: those it can handle at once, and those it holds ahead of time.
///
/// *Problem.* Claims and results travel a few times a second, whatever number of polls they carry. If an
/// item that waits for its millisecond, or a result that waits for company, counted as one that is
/// handled, a worker with hundreds of them would claim little and often.
///
/// *Approach.* Two rooms. A *place* is held by a handler that runs, by a result that somebody waits
/// for until it leaves, and by what a claim of due items may bring. The room *ahead* is held by
/// claimed items that have not begun. A claim that looks ahead needs the second room alone, until
/// the worker is busy: then it is cut to the places, so that nobody hoards what others could do.
///
/// What a claim may bring is reserved until its answer, so no two are promised the same.
struct Places: Sendable {
    /// The most items of one claim: 128 records are about a millisecond of Redis.
    static var claimMax: Int { 128 }
    /// The last claim is not cut below this while so much is free.
    static var claimMin: Int { 16 }
    /// Items held ahead for each place: with 256 places, what 4,000 polls a second need for 250 ms,
    /// and about a MiB.
    static var aheadFactor: Int { 4 }

    /// What a claim was promised, until its answer.
    struct Reservation: Sendable {
        /// At most so many items; 0 claims nothing.
        let limit: Int
        /// It is taken from the room ahead alone.
        let isAhead: Bool

        /// Nothing is claimed.
        static let nothing = Reservation(limit: 0, isAhead: false)
    }

    private let concurrency: Int
    /// Handlers that run.
    private(set) var running = 0
    /// Results that somebody waits for and that have not left yet.
    var waiting = 0
    /// Claimed items that have not begun.
    var ahead = 0
    private var reserved = 0
    private var reservedAhead = 0

    /// Everything is free.
    init(concurrency: Int) {
        self.concurrency = concurrency
    }

    /// Places that nobody holds.
    var free: Int { concurrency - running - waiting - reserved }

    /// Handlers that may still be started.
    var startable: Int { max(0, concurrency - running) }

    /// Whether a claim may bring anything.
    var canClaim: Bool { free > 0 && freeAhead > 0 }

    /// Most places are taken.
    var isBusy: Bool { free * 2 < concurrency }

    private var freeAhead: Int {
        concurrency * Self.aheadFactor - ahead - reserved - reservedAhead
    }

    /// So many handlers are started.
    mutating func start(_ count: Int) { running += count }

    /// A handler is done.
    mutating func finish() { running -= 1 }

    /// So many go on without their places.
    mutating func leave(_ count: Int) { running -= count }

    /// The share of a claim when `count` are still to be made now.
    ///
    /// They leave as much as one of them takes, so that other partitions need not wait for the answers.
    mutating func reserve(isAhead: Bool, among count: Int) -> Reservation {
        let isAhead = isAhead && !isBusy
        let room = max(0, isAhead ? freeAhead : min(free, freeAhead))
        let share = max(count > 1 ? 1 : Self.claimMin, room / (count + 1))
        let limit = min(share, room, Self.claimMax)
        if isAhead { reservedAhead += limit } else { reserved += limit }
        return Reservation(limit: limit, isAhead: isAhead)
    }

    /// A claim has been answered.
    mutating func release(_ reservation: Reservation) {
        if reservation.isAhead {
            reservedAhead -= reservation.limit
        } else {
            reserved -= reservation.limit
        }
    }
}
