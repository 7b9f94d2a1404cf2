package import PollerIdentity
package import PollerQueue

/// The work of a cluster in a span of time, summed over its processes.
package struct Activity: Hashable, Sendable {
    /// The GETs of upstreams, with any result.
    package var polls = 0
    /// The recorded changes.
    package var changes = 0
    /// The events that endpoints accepted.
    package var deliveries = 0
    /// The polls without a usable answer, and the failed delivery attempts.
    package var failures = 0
    /// The delays of polls after their due time, as counts for each of ``LatencyBuckets``.
    package var lag = Array(repeating: 0, count: LatencyBuckets.count)

    /// Creates an empty activity.
    package init() {}

    /// Whether there was no work.
    package var isEmpty: Bool { self == Activity() }

    /// Returns the work since `earlier`.
    package static func - (left: Activity, earlier: Activity) -> Activity {
        var rest = Activity()
        rest.polls = left.polls - earlier.polls
        rest.changes = left.changes - earlier.changes
        rest.deliveries = left.deliveries - earlier.deliveries
        rest.failures = left.failures - earlier.failures
        rest.lag = zip(left.lag, earlier.lag).map { $0 - $1 }
        return rest
    }
}

/// The length of a history and its resolution.
package enum ActivitySpan: String, CaseIterable, Sendable {
    /// A day, one point per minute.
    case day = "24h"
    /// Ninety days, one point per hour.
    case quarter = "90d"

    /// The span of a point.
    package var step: Duration { self == .day ? .seconds(60) : .seconds(3600) }

    /// The number of points.
    package var count: Int { self == .day ? 1440 : 2160 }
}

/// The work of a cluster over time.
package struct ActivityHistory: Hashable, Sendable {
    package let span: ActivitySpan
    /// The start of the first point.
    package let from: Timestamp
    /// The points, oldest first; the last one is not complete.
    package let points: [Activity]

    /// Creates the history that ends now.
    ///
    /// - Parameters:
    ///   - span: the length of the history.
    ///   - now: the store's time.
    ///   - known: the work in each step since 1970, by its number; missing steps had none.
    package init(_ span: ActivitySpan, now: Timestamp, known: [Int: Activity]) {
        let step = Int(clamping: span.step.ms)
        let last = Int(clamping: now.ms) / step
        let first = last - span.count + 1
        self.span = span
        from = Timestamp(ms: Int64(clamping: first * step))
        points = (first...last).map { known[$0] ?? Activity() }
    }
}

/// The store of a cluster's history: fixed rings, which need no maintenance and never grow.
///
/// It is for clusters without Prometheus. It is not exact: the work of a process since its last report is lost with it.
package protocol ActivityStore: Sendable {
    /// Adds the work of a process since its last report, as of now.
    func add(_ activity: Activity) async throws(StoreError)

    /// Returns the work of all processes.
    func history(_ span: ActivitySpan) async throws(StoreError) -> ActivityHistory
}
