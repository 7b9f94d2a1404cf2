import PollerIdentity
import SafeNumbers

/// The operations of operators on lanes: list, pause, resume, limit.
package protocol LaneControl: Sendable {
    /// Returns the partition of a lane, without a request.
    func partition(of lane: LaneID) -> Int

    /// Returns a page of the lanes that hold items or have settings, partition by partition, the longest overdue of
    /// each partition first.
    ///
    /// The result is not a snapshot: a lane that is served between two pages may appear twice or not at all.
    func lanes(limit: Int, cursor: String?) async throws(StoreError) -> ListPage<LaneReport>

    /// Returns one lane; `nil` when it holds no items and has no settings.
    func lane(_ lane: LaneID) async throws(StoreError) -> LaneReport?

    /// Stops claims from a lane, from the next claim on, until it is resumed.
    ///
    /// Items in flight continue, and new items may be enqueued. Returns the previous hold.
    @discardableResult
    func pause(_ lane: LaneID) async throws(StoreError) -> LaneHold

    /// Resumes a paused lane, ends its hold and closes its circuit.
    ///
    /// Returns the previous hold.
    @discardableResult
    func resume(_ lane: LaneID) async throws(StoreError) -> LaneHold

    /// Sets the lane's own limit, or the default if `nil`, from the next claim on.
    ///
    /// `known`: the expected current limit, `nil` for any. Returns false when the current limit differs.
    func limit(
        _ lane: LaneID,
        to limit: LaneLimit?,
        instead known: LaneLimitVersion?
    ) async throws(StoreError) -> Bool
}

extension LaneControl {
    /// Sets the lane's own limit, or the default if `nil`, without a condition.
    package func limit(_ lane: LaneID, to limit: LaneLimit?) async throws(StoreError) {
        _ = try await self.limit(lane, to: limit, instead: nil)
    }
}

/// The version of a lane's own limit in reports.
///
/// Equal versions mean equal limits.
///
/// *Shape*: the rate in thousandths, the burst and the slots, separated by spaces; empty for no limit.
package struct LaneLimitVersion: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// Creates the version of a lane's own limit; `nil` for none.
    package init(_ limit: LaneLimit?) {
        description =
            limit.map { limit in
                let rate = Int(saturating: (limit.ratePerSecond * 1000).rounded())
                return "\(rate) \(limit.burst) \(limit.inFlightMax)"
            } ?? ""
    }
}

/// The reason why a lane is stopped, apart from its limit.
package struct LaneHold: Hashable, Sendable {
    /// Whether an operator paused the lane.
    package let isPaused: Bool
    /// The time until which nothing is claimed; `nil` without a hold.
    package let heldUntil: Timestamp?
    package let circuit: LaneReport.Circuit

    /// Creates a hold from the fields of a store; `failures` counts consecutive unanswered attempts.
    package init(isPaused: Bool, heldUntil: Timestamp?, failures: Int, now: Timestamp) {
        self.isPaused = isPaused
        self.heldUntil = heldUntil.flatMap { $0 > now ? $0 : nil }
        circuit = LaneReport.Circuit(failures: failures, heldUntil: heldUntil, now: now)
    }

    /// Creates the hold of a lane from its report; no hold without a report.
    package init(_ report: LaneReport?) {
        isPaused = report?.isPaused ?? false
        heldUntil = report?.heldUntil
        circuit = report?.circuit ?? .closed
    }
}

/// The current state of a lane.
package struct LaneReport: Hashable, Sendable {
    /// The state of a circuit.
    package enum Circuit: String, Hashable, Sendable {
        /// All attempts are sent.
        case closed
        /// No attempts are sent: too many in a row were not answered.
        case open
        /// One attempt at a time is sent, to detect a recovery.
        case probing

        /// Derives the state from the number of consecutive unanswered attempts.
        init(failures: Int, heldUntil: Timestamp?, now: Timestamp) {
            self =
                failures < LaneSignal.failuresMax
                ? .closed : (heldUntil ?? now) > now ? .open : .probing
        }
    }

    package let lane: LaneID
    package let partition: Int
    /// The items that wait for their due time or for the lane.
    package let waiting: Int
    /// The waiting items that are due.
    package let overdue: Int
    /// The earliest due time of the waiting items.
    package let oldestDue: Timestamp?
    package let inFlight: Int
    /// The lane's own limit; `nil` for the default.
    package let limit: LaneLimit?
    package let isPaused: Bool
    /// The time until which nothing is claimed; `nil` without a hold.
    package let heldUntil: Timestamp?
    /// The earliest start that rate and holds allow, which may be long past; `nil` without a delay.
    package let notBefore: Timestamp?
    /// The factor that 429s have left of the limit, 1/32–1.
    package let factor: Double
    /// The number of consecutive attempts without a usable answer.
    package let failures: Int
    /// The kind of the last failure; `nil` without one.
    package let lastFailure: LaneFailure?
    /// For an endpoint, the first failed attempt since the last success.
    package let failingSince: Timestamp?
    package let circuit: Circuit
    /// The store's time of the report.
    package let now: Timestamp

    /// Creates a report from the fields of a store.
    package init(
        lane: LaneID,
        partition: Int,
        waiting: Int,
        overdue: Int,
        oldestDue: Timestamp?,
        inFlight: Int,
        limit: LaneLimit?,
        isPaused: Bool,
        heldUntil: Timestamp?,
        notBefore: Timestamp? = nil,
        factor: Double,
        failures: Int,
        lastFailure: LaneFailure? = nil,
        failingSince: Timestamp? = nil,
        now: Timestamp
    ) {
        self.lane = lane
        self.partition = partition
        self.waiting = waiting
        self.overdue = overdue
        self.oldestDue = oldestDue
        self.inFlight = inFlight
        self.limit = limit
        self.isPaused = isPaused
        self.heldUntil = heldUntil
        self.notBefore = notBefore
        self.factor = factor
        self.failures = failures
        self.lastFailure = lastFailure
        self.failingSince = failingSince
        self.now = now
        circuit = Circuit(failures: failures, heldUntil: heldUntil, now: now)
    }
}
