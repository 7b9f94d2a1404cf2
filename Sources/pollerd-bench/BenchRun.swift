import BenchPlan
import Logging
import RedisClient

/// Runs the measurements, one after the other on an empty database.
struct BenchRun: Sendable {
    /// The database, which the measured processes use too.
    let redisURL: String
    let sandboxURL: String
    let plan: BenchPlan
    let logger: Logger
    /// Called with the next measurement.
    let progress: @Sendable (String) -> Void

    /// Runs all planned measurements.
    func measure() async throws -> BenchReport {
        let client = RedisClient(url: try RedisURL(redisURL), logger: logger)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            let store = try await BenchStore(client: client, logger: logger)
            let report: BenchReport
            // Leaves the database empty, as it was, because the next run requires that.
            do {
                report = try await measure(on: store)
            } catch {
                try? await BenchStore.flush(client)
                throw error
            }
            try await BenchStore.flush(client)
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
            case .search: try await SearchBench(store: store, plan: plan).measure(&report)
            case .real: try await realBench(store).measure(&report)
            case .growth: try await GrowthBench(bench: realBench(store)).measure(&report)
            case .deliver:
                try await DeliverBench(store: store, plan: plan, redisURL: redisURL)
                    .measure(&report)
            case .fanOut:
                try await FanOutBench(store: store, redisURL: redisURL).measure(&report)
            case .live:
                let notifier = try NotifierProcess(redisURL: redisURL)
                defer { notifier.stop() }
                let bench = LiveBench(store: store, plan: plan, notifier: notifier)
                try await bench.measure(&report)
            case .scale: try await ScaleBench(store: store, plan: plan).measure(&report)
            case .json: try JSONBench(plan: plan).measure(&report)
            case .masters: try await MastersBench(store: store, plan: plan).measure(&report)
            case .subscribers:
                for gateways in plan.subscriberGateways {
                    let bench = SubscriberBench(
                        store: store,
                        plan: plan,
                        redisURL: redisURL,
                        gatewayCount: gateways
                    )
                    try await bench.measure(&report)
                }
                try await HTTPListenerBench(store: store, plan: plan, redisURL: redisURL)
                    .measure(&report)
            case .limit: try await LaneBench(store: store, plan: plan).limit(&report)
            }
            try await store.clear()
        }
        return report
    }

    private func realBench(_ store: BenchStore) -> RealBench {
        RealBench(store: store, plan: plan, redisURL: redisURL, sandboxURL: sandboxURL)
    }
}
