import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    /// The actions of a watch before its deadlines.
    static let acting: [ConformanceCase] = [
        Case("the actions before a deadline reach the worker, with any goal") { bench in
            for (name, goal) in [("1", WatchGoal.settled), ("2", .final), ("3", .leftPending)] {
                for (of, acts) in [
                    ("c", DeadlineActs(authorisation: .capture, abandoned: .cancel)),
                    ("r", DeadlineActs(authorisation: .cancel)),
                    ("a", DeadlineActs(abandoned: .cancel)), ("n", .unset),
                    ("l", DeadlineActs(authorisation: .leave, abandoned: .leave)),
                ] {
                    let key = intent(name + of, account: "acct_\(name)\(of)")
                    let new = try NewWatch(key: key, goal: goal, acts: acts)
                    _ = try await bench.watches.enqueue([new])
                    let read = try await bench.snapshot(key).watch
                    try equal(read.acts, acts, "the actions in the snapshot")
                    try equal(read.goal, goal, "the goal")
                    let taken = try await bench.take(key).item
                    try equal(taken.acts, acts, "the actions in the lease")
                }
            }
        },
        Case("the first value of each deadline action applies until a restart") { bench in
            let key = intent("1")
            for (said, goal, holds) in [
                (DeadlineActs.unset, WatchGoal.leftPending, DeadlineActs.unset),
                (
                    DeadlineActs(abandoned: .cancel), .leftPending,
                    DeadlineActs(abandoned: .cancel)
                ),
                (
                    DeadlineActs(authorisation: .capture, abandoned: .leave), .final,
                    DeadlineActs(authorisation: .capture, abandoned: .cancel)
                ),
                (
                    DeadlineActs(authorisation: .cancel), .settled,
                    DeadlineActs(authorisation: .capture, abandoned: .cancel)
                ),
            ] {
                let new = try NewWatch(key: key, goal: goal, acts: said)
                _ = try await bench.watches.enqueue([new])
                try equal(try await bench.snapshot(key).watch.acts, holds, "the actions")
            }
            try equal(try await bench.snapshot(key).watch.goal, .final, "the farther goal")
            _ = try await bench.watches.cancel(key)
            _ = try await bench.watches.enqueue([try NewWatch(key: key)])
            try equal(try await bench.snapshot(key).watch.acts, .unset, "after a restart")
        },
        Case("a watch keeps its first trace when later requests have other options") { bench in
            let traces = ["4bf92f3577b34da6a3ce929d0e0e4736", "ffffffffffffffffffffffffffffffff"]
                .compactMap { TraceContext(traceparent: "00-\($0)-00f067aa0ba902b7-01") }
            let acts = DeadlineActs(authorisation: .capture, abandoned: .cancel)
            for goal in WatchGoal.allCases {
                let key = intent("traced_\(goal.rawValue)")
                var new = try NewWatch(key: key, policy: .interactive)
                for (trace, holds) in [
                    (nil, nil), (traces[0], traces[0]), (nil, traces[0]), (traces[1], traces[0]),
                ] {
                    new.options.trace = trace
                    _ = try await bench.watches.enqueue([new])
                    try equal(try await bench.snapshot(key).watch.trace, holds, "the trace")
                }
                _ = try await bench.watches.enqueue([try NewWatch(key: key, goal: goal, acts: acts)]
                )
                let all = try await bench.snapshot(key).watch
                try equal(all.trace, traces[0], "after a request with more options")
                try equal(all.acts, acts, "the actions")
                try equal(all.goal, goal.farther(.settled), "the goal")
                _ = try await bench.watches.cancel(key)
                let recorded = try await bench.watches.events(of: key, after: 0, limit: 10)
                try equal(recorded.map(\.trace), [traces[0]], "the trace of its event")
                new.options.trace = traces[1]
                _ = try await bench.watches.enqueue([new])
                try equal(try await bench.snapshot(key).watch.trace, traces[1], "after a restart")
                _ = try await bench.watches.cancel(key)
                _ = try await bench.watches.enqueue([try NewWatch(key: key)])
                try equal(
                    try await bench.snapshot(key).watch.options,
                    WatchOptions(),
                    "after a restart without options"
                )
            }
        },
        Case("a watch keeps its first policy when later requests have other options") { bench in
            for policy in PollPolicy.named {
                let key = intent(policy.name)
                for (said, goal, asked) in [
                    (DeadlineActs.unset, WatchGoal.settled, policy),
                    (DeadlineActs(abandoned: .cancel), .final, .patient),
                    (.unset, .settled, .auto),
                ] {
                    let new = try NewWatch(key: key, policy: asked, goal: goal, acts: said)
                    _ = try await bench.watches.enqueue([new])
                    try equal(try await bench.snapshot(key).watch.policy, policy, "the policy")
                }
                let all = try await bench.snapshot(key).watch
                try equal(all.acts, DeadlineActs(abandoned: .cancel), "the actions")
                try equal(all.goal, .final, "the goal")
            }
        },
    ]

    private static func intent(_ name: String, account: String = "acct_a") -> WatchKey {
        WatchKey("pi_\(name)", of: AccountID(unchecked: account), kind: .paymentIntent)
    }
}
