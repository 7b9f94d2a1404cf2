import Metrics
import PollerIdentity

/// The metrics of a worker's polls, created once: the lookup of a metric costs more than the increment.
///
/// Add new metrics here. The admin listener exports them.
struct PollMetrics: Sendable {
    private let polls: [String: Counter]
    private let dueLag = Timer(label: "poller_due_lag_seconds")
    private let changes = Counter(label: "poller_changes_total")
    private let duration = Timer(label: "poller_poll_duration_seconds")

    init() {
        let pairs = PollResult.names.map { name in
            (name, Counter(label: "poller_polls_total", dimensions: [("result", name)]))
        }
        polls = Dictionary(uniqueKeysWithValues: pairs)
    }

    /// Counts the changes that a poll records.
    func count(changes count: Int) {
        changes.increment(by: count)
    }

    /// Counts a poll by the class of its result, how late it was, and how long it took.
    func count(_ result: PollResult, lag: Duration, took: Duration) {
        polls[result.name]?.increment()
        dueLag.recordMilliseconds(max(lag.ms, 0))
        duration.recordMilliseconds(took.ms)
    }
}

extension PollResult {
    /// All values of ``name``.
    package static let names = [
        "observed", "rate_limited", "object_limited", "lock_timeout", "unavailable",
        "unauthorized", "unserved", "unaskable", "gone", "malformed",
    ]

    /// The class of the result, for logs and metrics.
    package var name: String {
        switch self {
        case .observed: "observed"
        case .rateLimited: "rate_limited"
        case .objectLimited: "object_limited"
        case .lockTimeout: "lock_timeout"
        case .unavailable: "unavailable"
        case .unauthorized, .revoked: "unauthorized"
        case .unserved: "unserved"
        case .unaskable: "unaskable"
        case .gone: "gone"
        case .malformed: "malformed"
        }
    }
}
