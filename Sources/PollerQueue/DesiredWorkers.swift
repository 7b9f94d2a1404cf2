import PollerIdentity
import SafeNumbers

/// The number of workers that a cluster could use now.
///
/// *Problem.* Autoscaling by queue length is useless against a rate limit: one worker serves a lane of 20/s with 10,000
/// overdue watches as fast as forty. Autoscaling by items in flight does not show how many more could be in flight with
/// more workers.
///
/// *Approach.* Both are counted in slots, of which a worker has as many as concurrent polls: the slots in use, and
/// those that overdue watches could use at this instant. A lane allows as many starts as its slots, its rate, its
/// circuit and its operator permit now (``LaneReport/startable(_:)``), which is what its limiter would grant the next
/// claim. A worker with a free slot claims at once, even ahead of time. A lane that is served at its limit therefore
/// allows no further start, and any remaining late item means a lack of slots.
///
/// | cluster | workers wanted |
/// |---|---|
/// | nothing to do | 1: the next watch may be due in a second |
/// | a lane of 20/s with 10,000 overdue, served at its rate | 1 |
/// | one worker with 256 slots, all taken, and 300 overdue watches that may start | 3 |
/// | the same while their lanes are paused, held or open | 1 |
///
/// The number grows in steps. For a lane that is served below its rate only the burst is known to be needed. The slots
/// that its rate needs become known once polls are in flight. So the number never exceeds what the lanes can use, and
/// reaches it within a few evaluations.
///
/// *Rejected*: ⌈overdue ÷ slots⌉, which is the queue length; the rate times the poll duration, which no store knows;
/// the time since the last claim from a lane, because an underserved lane is claimed from too; an option for the
/// minimum, which every autoscaler already has.
package struct DesiredWorkers: Hashable, Sendable {
    /// The minimum: without a worker nothing is polled when it is due.
    private static let minimum = 1
    /// The delay from which a watch counts as waiting for a worker.
    ///
    /// Each partition is claimed from every second, even if a wake was lost.
    static let patience = Duration.seconds(2)
    /// The slots of a worker if no worker has announced them: the default of `POLLER_WORKER_CONCURRENCY`.
    private static let defaultSlots = 256

    /// The number of workers, at least 1.
    package let count: Int

    /// Computes the number from the state of the cluster.
    ///
    /// - Parameters:
    ///   - watches: counts over all lanes.
    ///   - lanes: the lanes that were read; the others are assumed to be similar.
    ///   - isWhole: whether all lanes were read.
    ///   - members: the live processes.
    ///   - laneLimit: the limit of lanes without their own limit.
    package init(
        watches: StoreStats,
        lanes: [LaneReport],
        isWhole: Bool,
        members: [Member],
        laneLimit: LaneLimit
    ) {
        let startableCount = lanes.filter { $0.lateness > Self.patience }
            .reduce(0) { $0.addingSaturating($1.startable(laneLimit)) }
        let overdueRead = lanes.reduce(0) { $0.addingSaturating($1.overdue) }
        let scale =
            isWhole || overdueRead == 0 ? 1 : max(1, Double(watches.overdue) / Double(overdueRead))
        let desired = Double(watches.leased) + Double(startableCount) * scale
        let announced = members.compactMap(\.slots).filter { $0 > 0 }
        let slots =
            announced.isEmpty
            ? Double(Self.defaultSlots)
            : Double(announced.reduce(0) { $0.addingSaturating($1) }) / Double(announced.count)
        count = max(Self.minimum, Int(saturating: (desired / slots).rounded(.up)))
    }
}

extension LaneReport {
    /// The delay of its longest overdue item.
    fileprivate var lateness: Duration {
        overdue > 0 ? oldestDue.map { now - $0 } ?? .zero : .zero
    }

    /// Returns how many overdue items the lane would let start at this instant, by the rules of the claim.
    func startable(_ standard: LaneLimit) -> Int {
        guard !isPaused, circuit != .open, heldUntil == nil else { return 0 }
        let limit = limit ?? standard
        let slots =
            circuit == .probing ? 1 : max(1, Int(saturating: Double(limit.inFlightMax) * factor))
        return max(0, min(overdue, slots.subtractingSaturating(inFlight), starts(limit)))
    }

    /// Returns the starts that its rate allows: the burst, less the part that is used and not yet restored.
    private func starts(_ limit: LaneLimit) -> Int {
        guard limit.ratePerSecond > 0 else { return .max }
        guard let notBefore else { return limit.burst }
        guard notBefore <= now else { return 0 }
        let restored = (now - notBefore) / .seconds(1) * limit.ratePerSecond * factor
        // A lane that was idle for a year has no more than the burst.
        return min(
            limit.burst,
            Int(saturating: min(restored, Double(limit.burst))).addingSaturating(1)
        )
    }
}
