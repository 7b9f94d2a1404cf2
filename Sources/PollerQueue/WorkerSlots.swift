/// The slots of a worker: for items that it handles, and for items that it holds ahead of time.
///
/// *Problem.* Claims and results are exchanged a few times per second, for any number of polls. Some items wait for
/// their millisecond, and some results wait for others. If these counted as being handled, a worker with hundreds of
/// them would send many small claims.
///
/// *Approach.* There are two pools. A *slot* is held by a running handler, by a result that is waited for, and by the
/// reservation of a claim of due items. The *ahead* pool is held by claimed items that have not begun. A claim that
/// looks ahead needs only the second pool, until the worker is busy. Then it is limited to the slots, so that no worker
/// hoards items that others could handle.
///
/// The items that a claim may return are reserved until its answer, so that no slot is promised twice.
struct WorkerSlots: Sendable {
    /// The maximum number of items per claim: 128 records take Redis about a millisecond.
    static var claimMax: Int { 128 }
    /// The minimum size of the last claim while so many slots are free.
    static var claimMin: Int { 16 }
    /// The items held ahead per slot.
    ///
    /// With 256 slots, it is enough for 4,000 polls per second over 250 ms, and about a MiB.
    static var aheadFactor: Int { 4 }

    /// The slots reserved for a claim until its answer.
    struct Reservation: Sendable {
        /// The maximum number of items; 0 for no claim.
        let limit: Int
        /// Whether only the ahead pool is used.
        let isAhead: Bool

        /// The reservation of an exchange without a claim.
        static let nothing = Reservation(limit: 0, isAhead: false)
    }

    private let concurrency: Int
    /// The number of running handlers with a slot.
    private(set) var running = 0
    /// The number of results that are waited for and have not been sent.
    var waiting = 0
    /// The number of claimed items that have not begun.
    var ahead = 0
    private var reserved = 0
    private var reservedAhead = 0

    /// Creates slots that are all free.
    init(concurrency: Int) {
        self.concurrency = concurrency
    }

    /// The number of free slots.
    var free: Int { concurrency - running - waiting - reserved }

    /// The number of handlers that may start.
    var startable: Int { max(0, concurrency - running) }

    /// Whether a claim may return items.
    var canClaim: Bool { free > 0 && freeAhead > 0 }

    /// Whether most slots are taken.
    var isBusy: Bool { free * 2 < concurrency }

    private var freeAhead: Int {
        concurrency * Self.aheadFactor - ahead - reserved - reservedAhead
    }

    /// Counts handlers that start.
    mutating func start(_ count: Int) { running += count }

    /// Counts a handler that has ended.
    mutating func finish() { running -= 1 }

    /// Counts handlers that continue without their slots.
    mutating func detach(_ count: Int) { running -= count }

    /// Reserves slots for a claim when `count` claims are to be sent now.
    ///
    /// The claims leave as many slots as one of them takes, so that other partitions need not wait for the answers.
    mutating func reserve(isAhead: Bool, among count: Int) -> Reservation {
        let isAhead = isAhead && !isBusy
        let room = max(0, isAhead ? freeAhead : min(free, freeAhead))
        let portion = max(count > 1 ? 1 : Self.claimMin, room / (count + 1))
        let limit = min(portion, room, Self.claimMax)
        if isAhead { reservedAhead += limit } else { reserved += limit }
        return Reservation(limit: limit, isAhead: isAhead)
    }

    /// Frees the reservation of an answered claim.
    mutating func release(_ reservation: Reservation) {
        if reservation.isAhead {
            reservedAhead -= reservation.limit
        } else {
            reserved -= reservation.limit
        }
    }
}
