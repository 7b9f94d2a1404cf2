import PollerIdentity
import PollerOperations
import PollerTesting

extension QueueConformance {
    /// The activity of the cluster, minute by minute.
    static let activity: [ConformanceCase] = [
        Case("the work of all processes is added up in the points of each span") { bench in
            let store = try bench.redis.activity
            let first = bench.activity(polls: 3, changes: 1, lagBucket: 4)
            let second = bench.activity(polls: 5, deliveries: 2, failures: 1, lagBucket: 4)
            try await store.add(first)
            try await store.add(second)
            for span in ActivitySpan.allCases {
                let history = try await store.history(span)
                try equal(history.points.count, span.count, "points of \(span)")
                // A minute may have begun between the two, so only the sum of both points is known.
                let points = Array(history.points.suffix(2))
                try equal(points[0] - first, second - points[1], "the sum of \(span)")
                try equal(
                    history.points.dropLast(2).allSatisfy(\.isEmpty),
                    true,
                    "earlier points of \(span)"
                )
            }
        },
        Case("a later minute is another point, and points older than the span are gone") { bench in
            let store = try bench.redis.activity
            let done = bench.activity(polls: 7, lagBucket: 0)
            try await store.add(done)
            let from = try await store.history(.day).from
            try await bench.harness.advance(by: .seconds(120))
            try await store.add(done)
            let later = try await store.history(.day)
            try equal(later.from - from, .seconds(120), "the span moves")
            try equal(later.points.suffix(3).map(\.polls), [7, 0, 7], "two points")
            try await bench.harness.advance(by: .seconds(86_400))
            try equal(
                try await store.history(.day).points.map(\.polls).reduce(0, +),
                0,
                "after a day, before any point is overwritten"
            )
            try equal(
                try await store.history(.quarter).points.map(\.polls).reduce(0, +),
                14,
                "polls within 90 days"
            )
            try await store.add(done)
            try equal(
                try await store.history(.day).points.map(\.polls).reduce(0, +),
                7,
                "an overwritten point starts at zero"
            )
        },
    ]
}

extension ConformanceBench {
    /// Creates the activity of a process.
    func activity(
        polls: Int,
        changes: Int = 0,
        deliveries: Int = 0,
        failures: Int = 0,
        lagBucket: Int
    ) -> Activity {
        var activity = Activity()
        (activity.polls, activity.changes) = (polls, changes)
        (activity.deliveries, activity.failures) = (deliveries, failures)
        activity.lag[lagBucket] = polls
        return activity
    }
}
