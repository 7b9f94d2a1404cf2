package import PollerIdentity
package import PollerQueue

/// What a cluster did in a span of time, summed over its processes.
package struct Activity: Hashable, Sendable {
    /// GETs of upstreams, whatever came of them.
    package var polls = 0
    /// Changes that were recorded.
    package var changes = 0
    /// Events that an endpoint took.
    package var deliveries = 0
    /// Polls without an answer that could be used, and tries to deliver that failed.
    package var failures = 0
    /// How late polls were against their due time, a count for each of ``LatencyBuckets``.
    package var lag = Array(repeating: 0, count: LatencyBuckets.count)

    /// Nothing.
    package init() {}

    /// Whether nothing was done.
    package var isEmpty: Bool { self == Activity() }

    package static func + (left: Activity, right: Activity) -> Activity {
        left.combined(with: right, +)
    }

    /// What was done since `earlier`.
    package static func - (left: Activity, earlier: Activity) -> Activity {
        left.combined(with: earlier, -)
    }

    private func combined(with other: Activity, _ operation: (Int, Int) -> Int) -> Activity {
        var sum = Activity()
        sum.polls = operation(polls, other.polls)
        sum.changes = operation(changes, other.changes)
        sum.deliveries = operation(deliveries, other.deliveries)
        sum.failures = operation(failures, other.failures)
        sum.lag = zip(lag, other.lag).map(operation)
        return sum
    }
}

/// How far back a history goes, and how fine it is.
package enum ActivitySpan: String, CaseIterable, Sendable {
    /// A day, a point a minute.
    case day = "24h"
    /// Ninety days, a point an hour.
    case quarter = "90d"

    /// The span of a point.
    package var step: Duration { self == .day ? .seconds(60) : .seconds(3600) }

    /// How many points there are.
    package var count: Int { self == .day ? 1440 : 2160 }
}

/// What a cluster did, point by point.
package struct ActivityHistory: Hashable, Sendable {
    package let span: ActivitySpan
    /// The beginning of the first point.
    package let from: Timestamp
    /// Oldest first; the last one is still going on.
    package let points: [Activity]

    /// The history that ends now.
    ///
    /// - Parameters:
    ///   - span: how far back it goes.
    ///   - now: the store's time.
    ///   - known: what was done in each step since 1970, by its number; those that are missing did nothing.
    package init(_ span: ActivitySpan, now: Timestamp, known: [Int: Activity]) {
        let step = Int(clamping: span.step.ms)
        let last = Int(clamping: now.ms) / step
        let first = last - span.count + 1
        self.span = span
        from = Timestamp(ms: Int64(clamping: first * step))
        points = (first...last).map { known[$0] ?? Activity() }
    }
}

/// Where the history of a cluster is kept: fixed rings, so that it needs no care and never grows.
///
/// For whoever has no Prometheus. It is a picture, not a promise: what a process did since its last report
/// is lost with it.
package protocol ActivityStore: Sendable {
    /// Adds what a process did since its last report, as of now.
    func add(_ activity: Activity) async throws(StoreError)

    /// What all processes did.
    func history(_ span: ActivitySpan) async throws(StoreError) -> ActivityHistory
}
