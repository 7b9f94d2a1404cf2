import PollerIdentity
import PollerOperations
import PollerWire

extension StatsHistory {
    /// Creates the API representation of the history.
    init(_ history: ActivityHistory) {
        self.init()
        stepSeconds = Int(clamping: history.span.step.ms / 1000)
        from = Time(history.from)
        let points = history.points
        series.polls = points.map(\.polls)
        series.changes = points.map(\.changes)
        series.deliveries = points.map(\.deliveries)
        series.failures = points.map(\.failures)
        series.lagP50 = points.map { Measured(LatencyBuckets.quantile(0.5, of: $0.lag)) }
        series.lagP99 = points.map { Measured(LatencyBuckets.quantile(0.99, of: $0.lag)) }
    }
}
