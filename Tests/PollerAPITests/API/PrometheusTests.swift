import CoreMetrics
import Poller
import PollerTesting
import ServiceLifecycle
import Testing

@testable import PollerAPI

@Suite("Metrics for Prometheus")
struct PrometheusRegistryTests {
    @Test("counters, gauges and histograms render in order, with types and escaped labels")
    func renders() {
        let registry = PrometheusRegistry()
        Counter(label: "b_total", dimensions: [("z", "1"), ("a", "q\"\\\n")], factory: registry)
            .increment(by: 2)
        Counter(label: "b_total", dimensions: [("a", "q\"\\\n"), ("z", "1")], factory: registry)
            .increment()
        Gauge(label: "a.gauge", factory: registry).record(1.5)
        let timer = Timer(label: "c_seconds", factory: registry)
        timer.recordMilliseconds(3)
        timer.recordSeconds(1000)
        let text = registry.text
        #expect(text.hasPrefix("# TYPE a_gauge gauge\na_gauge 1.5\n# TYPE b_total counter\n"))
        #expect(text.contains(#"b_total{a="q\"\\\n",z="1"} 3"# + "\n"))
        #expect(text.contains("c_seconds_bucket{le=\"0.0025\"} 0\n"))
        #expect(text.contains("c_seconds_bucket{le=\"0.005\"} 1\n"))
        #expect(text.contains("c_seconds_bucket{le=\"600\"} 1\n"))
        #expect(text.contains("c_seconds_bucket{le=\"+Inf\"} 2\n"))
        #expect(text.contains("c_seconds_count 2\n"))
        #expect(text.contains("c_seconds_sum 1000.003\n"))
    }

    @Test("labels beyond the bound share one series and the sum stays right")
    func cardinality() {
        let registry = PrometheusRegistry()
        for number in 0..<1000 {
            Counter(label: "hits_total", dimensions: [("id", "\(number)")], factory: registry)
                .increment()
        }
        let lines = registry.text.split(separator: "\n")
        #expect(lines.count == 1 + PrometheusRegistry.seriesMax + 1)
        #expect(lines.contains("hits_total{overflow=\"true\"} 800"))
    }

    @Test("a name used for two kinds keeps the first and counts the refusal")
    func conflictingKinds() {
        let registry = PrometheusRegistry()
        Counter(label: "x_total", factory: registry).increment()
        Timer(label: "x_total", factory: registry).recordSeconds(1)
        #expect(registry.text.contains("x_total 1\n"))
        #expect(registry.text.contains("poller_metrics_refused_total 1\n"))
    }

    @Test("increments from many tasks all count")
    func concurrent() async {
        let registry = PrometheusRegistry()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1000 {
                        Counter(label: "n_total", factory: registry).increment()
                    }
                }
            }
        }
        #expect(registry.text.contains("n_total 8000\n"))
    }
}

@Suite("Gauges of the cluster")
struct ClusterGaugesTests {
    @Test("scrapes see the cluster as it was looked at last, and whether the look worked")
    func gauges() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.enqueue("src_2")
            try await api.bury("src_2", because: "no JSON")
            try await api.store.pause(LaneID(account: .main, kind: .source))
            try await api.announce("worker,api", host: "one")
            let registry = PrometheusRegistry()
            let clock = ManualClock()
            let gauges = ClusterGauges(
                backend: api.backend,
                clock: clock,
                logger: LiveAPI.quiet,
                factory: registry
            )
            let group = ServiceGroup(services: [gauges], logger: LiveAPI.quiet)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await group.run() }
                await clock.waitForSleepers(1)
                let lines = Set(registry.text.split(separator: "\n").map(String.init))
                for line in [
                    "poller_watches_pending 1", "poller_watches_leased 0",
                    "poller_watches_quarantined 1", "poller_lanes{state=\"paused\"} 1",
                    "poller_lanes{state=\"open\"} 0", "poller_members{role=\"worker\"} 1",
                    "poller_members{role=\"notifier\"} 0", "poller_outbox_undelivered 1",
                    "poller_store_up 1", "poller_deliveries_dead 0", "poller_endpoints_down 0",
                ] {
                    #expect(lines.contains(line), "\(line) is not in \(registry.text)")
                }
                let age = registry.text.firstMatch(of: /oldest_overdue_seconds ([0-9.]+)\n/)
                #expect(Double(age?.1 ?? "") ?? 0 > 0)

                // More than one: the server's feed reads by its own clock and may meet some of them.
                api.plan.fail(.read, Array(repeating: .refused, count: 20))
                clock.advance(by: ClusterGauges.period)
                await clock.waitForSleepers(1)
                #expect(registry.text.contains("poller_store_up 0\n"))
                #expect(registry.text.contains("poller_watches_pending 1\n"), "as it was")
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }
    }
}
