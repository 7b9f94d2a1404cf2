package import Logging
package import RedisClient

/// The measurements, one after the other on an empty database.
package struct BenchRun: Sendable {
    /// Where in the database everything happens.
    package static let namespace = BenchStore.namespace

    private let redisURL: RedisURL
    private let sandboxURL: String
    private let plan: BenchPlan
    private let startNotifier: @Sendable () async throws -> any NotifierPeer
    private let logger: Logger
    private let progress: @Sendable (String) -> Void

    /// Prepares a run; `progress` hears what is measured next.
    ///
    /// `startNotifier` starts a notifier on the same database, in ``namespace``.
    package init(
        redisURL: RedisURL,
        sandboxURL: String,
        plan: BenchPlan,
        startNotifier: @escaping @Sendable () async throws -> any NotifierPeer,
        logger: Logger,
        progress: @escaping @Sendable (String) -> Void
    ) {
        self.redisURL = redisURL
        self.sandboxURL = sandboxURL
        self.plan = plan
        self.startNotifier = startNotifier
        self.logger = logger
        self.progress = progress
    }

    /// Measures everything that is planned.
    package func measure() async throws -> BenchReport {
        let client = RedisClient(url: redisURL, logger: logger)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            let store = try await BenchStore(client: client, logger: logger)
            let report = try await measure(on: store)
            group.cancelAll()
            return report
        }
    }

    private func measure(on store: BenchStore) async throws -> BenchReport {
        var report = BenchReport()
        for stage in plan.stages {
            progress("\(stage.rawValue), \(plan.span.components.seconds) s a measurement")
            switch stage {
            case .enqueue: try await EnqueueBench(store: store, plan: plan).measure(&report)
            case .engine: try await EngineBench(store: store, plan: plan).measure(&report)
            case .whole:
                let bench = WholeBench(store: store, plan: plan, sandboxURL: sandboxURL)
                try await bench.measure(&report)
            case .lag: try await LagBench(store: store, plan: plan).measure(&report)
            case .idle: try await LagBench(store: store, plan: plan).measureIdle(&report)
            case .fairness: try await LaneBench(store: store, plan: plan).fairness(&report)
            case .deliver: try await DeliverBench(store: store, plan: plan).measure(&report)
            case .live:
                let notifier = try await startNotifier()
                defer { notifier.stop() }
                let bench = LiveBench(store: store, plan: plan, notifier: notifier)
                try await bench.measure(&report)
            case .limit: try await LaneBench(store: store, plan: plan).limit(&report)
            }
        }
        return report
    }
}
