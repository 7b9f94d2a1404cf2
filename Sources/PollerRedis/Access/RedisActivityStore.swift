import PollerIdentity
package import PollerOperations
package import PollerQueue
import RedisClient

/// The activity history of a cluster in Redis: two hashes in partition 0 of the watches, one for each span.
///
/// *Shape*: field: the number of a step since 1970, modulo the ring's length; value: the step's number, polls, changes,
/// deliveries, failures and the lag's buckets, separated by spaces.
package struct RedisActivityStore: ActivityStore {
    private let redis: RedisPartitions

    /// Creates the activity store of a cluster.
    package init(_ redis: RedisPartitions) { self.redis = redis }

    package func add(_ activity: Activity) async throws(StoreError) {
        let rings = ActivitySpan.allCases.flatMap { [Int(clamping: $0.step.ms) / 1000, $0.count] }
        let done = [activity.polls, activity.changes, activity.deliveries, activity.failures]
        let numbers = rings + done + activity.lag
        // Not durable: writes lost in a failover only leave a dip in a chart.
        _ = try await redis.run(.activityAdd, partition: 0, numbers.map { RedisArgument($0) })
    }

    package func history(_ span: ActivitySpan) async throws(StoreError) -> ActivityHistory {
        let reply = try await redis.run(
            .activityRead,
            partition: 0,
            [RedisArgument(Int(clamping: span.step.ms) / 1000)]
        )
        guard let rows = reply.array, let now = rows.first?.time else {
            throw .corrupt("activity_read answered nonsense")
        }
        let steps = rows.dropFirst().compactMap { $0.string.flatMap(Self.step(of:)) }
        return ActivityHistory(
            span,
            now: now,
            known: Dictionary(steps) { first, _ in first }
        )
    }

    /// Reads a field's value; `nil` if another release has written it differently.
    private static func step(of text: String) -> (Int, Activity)? {
        let numbers = text.split(separator: " ").compactMap { Int(count: $0) }
        guard numbers.count == 5 + LatencyBuckets.count else { return nil }
        var activity = Activity()
        activity.polls = numbers[1]
        activity.changes = numbers[2]
        activity.deliveries = numbers[3]
        activity.failures = numbers[4]
        activity.lag = Array(numbers[5...])
        return (numbers[0], activity)
    }
}
