import PollerIdentity
import SafeNumbers

/// How many workers a cluster could use now.
///
/// *Problem.* Who scales by the length of a queue scales against a rate limit in vain: a lane of 20 a
/// second with 10,000 overdue watches is served as fast by one worker as by forty. And who scales by
/// what is in flight never learns that more would be, if there were somebody to take it.
///
/// *Approach.* Both are counted in places, of which a worker has as many as polls that it may run at
/// once: those that are taken, and those that overdue watches would take this instant if there were
/// any. A lane lets as many start as its slots, its rate, its circuit and its operator allow now
/// (``LaneReport/startable(_:)``): what its limiter would let the next claim have. A worker that has a
/// place takes that at once, ahead of its time even; so a lane that is served at its limit lets
/// nothing start, and what is left over, and late, was left for want of places.
///
/// | cluster | wants |
/// |---|---|
/// | nothing to do | 1: the next watch may be due in a second |
/// | a lane of 20/s with 10,000 overdue, served at its rate | 1 |
/// | one worker with 256 places, all taken, and 300 overdue watches that may start | 3 |
/// | the same while their lanes are paused, held or open | 1 |
///
/// It grows in steps: of a lane that is served below its rate only the burst is known to be wanted,
/// and what the rate comes to in places shows as soon as polls are in flight. So it never asks for
/// more than the lanes can use, and comes to what they need within a few looks.
///
/// *Rejected*: ⌈overdue ÷ places⌉, which is the length of the queue; the rate times how long polls
/// take, which no store knows; how long a lane was not claimed from, since one that gets too little
/// is claimed from too; an option for the least, which whoever scales has already.
package struct WorkersWanted: Hashable, Sendable {
    /// Without a worker nothing is polled when it is due.
    private static let least = 1
    /// How late a watch may be before somebody is wanted for it: each partition is claimed from every
    /// second, also when a wake was lost.
    static let patience = Duration.seconds(2)
    /// The places of a worker while none has told us: what `POLLER_WORKER_CONCURRENCY` is by default.
    private static let usualPlaces = 256

    /// How many, at least 1.
    package let count: Int

    /// Decides from a look at the cluster.
    ///
    /// - Parameters:
    ///   - watches: counts over all lanes.
    ///   - lanes: those that were looked at; what was not is taken to be like them.
    ///   - isWhole: whether all were.
    ///   - members: who is alive.
    ///   - laneLimit: what holds for lanes without a limit of their own.
    package init(
        watches: StoreStats,
        lanes: [LaneReport],
        isWhole: Bool,
        members: [Member],
        laneLimit: LaneLimit
    ) {
        let left = lanes.filter { $0.lateness > Self.patience }
            .reduce(0) { $0.addingSaturating($1.startable(laneLimit)) }
        let seen = lanes.reduce(0) { $0.addingSaturating($1.overdue) }
        let share = isWhole || seen == 0 ? 1 : max(1, Double(watches.overdue) / Double(seen))
        let wanted = Double(watches.leased) + Double(left) * share
        let announced = members.compactMap(\.places).filter { $0 > 0 }
        let places =
            announced.isEmpty
            ? Double(Self.usualPlaces)
            : Double(announced.reduce(0) { $0.addingSaturating($1) }) / Double(announced.count)
        count = max(Self.least, Int(saturating: (wanted / places).rounded(.up)))
    }
}

extension LaneReport {
    /// How long its longest overdue item has been due.
    fileprivate var lateness: Duration {
        overdue > 0 ? oldestDue.map { now - $0 } ?? .zero : .zero
    }

    /// How many of the overdue items the lane would let start together this instant, as the claim
    /// decides it.
    func startable(_ standard: LaneLimit) -> Int {
        guard !isPaused, circuit != .open, heldUntil == nil else { return 0 }
        let limit = limit ?? standard
        let slots =
            circuit == .probing ? 1 : max(1, Int(saturating: Double(limit.inFlightMax) * factor))
        return max(0, min(overdue, slots.subtractingSaturating(inFlight), starts(limit)))
    }

    /// How many starts its rate has left: the burst, less what was taken of it and has not come back.
    private func starts(_ limit: LaneLimit) -> Int {
        guard limit.ratePerSecond > 0 else { return .max }
        guard let notBefore else { return limit.burst }
        guard notBefore <= now else { return 0 }
        let come = (now - notBefore) / .seconds(1) * limit.ratePerSecond * factor
        // Of a lane that was left alone for a year no more than the burst.
        return min(
            limit.burst,
            Int(saturating: min(come, Double(limit.burst))).addingSaturating(1)
        )
    }
}
