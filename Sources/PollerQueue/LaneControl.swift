import PollerIdentity
import SafeNumbers

/// What operators may do to lanes: look at them, stop them, change their limits while they run.
package protocol LaneControl: Sendable {
    /// The partition of a lane; asks nobody.
    func partition(of lane: LaneID) -> Int

    /// A page of the lanes that hold something or have settings of their own, partition by
    /// partition, the longest overdue of each partition first.
    ///
    /// A moving picture: a lane that is served while you page may show up twice or not at all.
    func lanes(limit: Int, cursor: String?) async throws(StoreError) -> ListPage<LaneReport>

    /// One lane; nil when it holds nothing and has no settings.
    func lane(_ lane: LaneID) async throws(StoreError) -> LaneReport?

    /// Claims nothing more from a lane until it is resumed, from the next claim on.
    ///
    /// What is in flight goes on; items may be enqueued meanwhile. Returns what held it before.
    @discardableResult
    func pause(_ lane: LaneID) async throws(StoreError) -> LaneHold

    /// Lets a paused lane go on; also ends a hold and closes its circuit. Returns what held it before.
    @discardableResult
    func resume(_ lane: LaneID) async throws(StoreError) -> LaneHold

    /// Gives a lane a limit of its own, or (nil) the default again, from the next claim on.
    ///
    /// `known`: only instead of this one, nil for any; false when it is another one.
    func limit(
        _ lane: LaneID,
        to limit: LaneLimit?,
        instead known: LaneLimitVersion?
    ) async throws(StoreError) -> Bool
}

extension LaneControl {
    /// Gives a lane a limit of its own, or (nil) the default again, whatever it has.
    package func limit(_ lane: LaneID, to limit: LaneLimit?) async throws(StoreError) {
        _ = try await self.limit(lane, to: limit, instead: nil)
    }
}

/// Which limit of its own a lane has, as reports tell it: two that are equal are the same.
///
/// *Shape*: the rate in thousandths, the burst and the most in flight, with spaces between; empty for none.
package struct LaneLimitVersion: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// The version of a lane's own limit; nil for none.
    package init(_ limit: LaneLimit?) {
        description =
            limit.map { limit in
                let rate = Int(saturating: (limit.ratePerSecond * 1000).rounded())
                return "\(rate) \(limit.burst) \(limit.inFlightMax)"
            } ?? ""
    }
}

/// What keeps a lane from going on, whatever its limit.
package struct LaneHold: Hashable, Sendable {
    /// Whether a person has stopped it.
    package let isPaused: Bool
    /// Nothing goes out before; nil when nothing holds it.
    package let heldUntil: Timestamp?
    package let circuit: LaneReport.Circuit

    /// Puts a hold together, as a store does; `failures` are attempts in a row without an answer.
    package init(isPaused: Bool, heldUntil: Timestamp?, failures: Int, now: Timestamp) {
        self.isPaused = isPaused
        self.heldUntil = heldUntil.flatMap { $0 > now ? $0 : nil }
        circuit = LaneReport.Circuit(failures: failures, heldUntil: heldUntil, now: now)
    }

    /// What holds a lane of which there is a report; nothing without one.
    package init(_ report: LaneReport?) {
        isPaused = report?.isPaused ?? false
        heldUntil = report?.heldUntil
        circuit = report?.circuit ?? .closed
    }
}

/// How a lane stands right now.
package struct LaneReport: Hashable, Sendable {
    /// Whether attempts go out.
    package enum Circuit: String, Hashable, Sendable {
        /// As they should.
        case closed
        /// Not at all: too many in a row got no answer.
        case open
        /// One at a time, to see whether the other side is back.
        case probing

        /// What follows from so many attempts in a row without an answer.
        init(failures: Int, heldUntil: Timestamp?, now: Timestamp) {
            self =
                failures < LaneSignal.failuresMax
                ? .closed : (heldUntil ?? now) > now ? .open : .probing
        }
    }

    package let lane: LaneID
    package let partition: Int
    /// Items that wait for their due time or for the lane.
    package let waiting: Int
    /// Of those, due already.
    package let overdue: Int
    /// The earliest due time of those that wait.
    package let oldestDue: Timestamp?
    package let inFlight: Int
    /// The lane's own limit; nil when it has the default.
    package let limit: LaneLimit?
    package let isPaused: Bool
    /// Nothing is claimed before this instant; nil when nothing holds the lane.
    package let heldUntil: Timestamp?
    /// Its rate and its holds have let nothing start before this instant, which may be long ago; nil
    /// when nothing has put it off.
    package let notBefore: Timestamp?
    /// What a `slow` has left of the limit, 1/32–1.
    package let factor: Double
    /// Attempts in a row without a usable answer.
    package let failures: Int
    /// The kind of the last failure; nil while there is none.
    package let lastFailure: LaneFailure?
    /// Of an endpoint: the first attempt that failed since one succeeded.
    package let failingSince: Timestamp?
    package let circuit: Circuit
    /// The store's clock when it looked.
    package let now: Timestamp

    /// Puts a report together, as a store does.
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
