import CoreMetrics
import Foundation
import PollerIdentity
import PollerQueue
import PollerTesting
import ServiceLifecycle
import Testing

@testable import PollerAPI
@testable import PollerIncidents

@Suite("Metrics for Prometheus")
struct PrometheusRegistryTests {
    @Test("counters, gauges and histograms are rendered in order, with types and escaped labels")
    func renders() {
        let registry = PrometheusRegistry(logger: LiveAPI.quiet)
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

    @Test("labels over the limit share one series, and the sum stays correct")
    func cardinality() {
        let registry = PrometheusRegistry(logger: LiveAPI.quiet)
        for number in 0..<1000 {
            Counter(label: "hits_total", dimensions: [("id", "\(number)")], factory: registry)
                .increment()
        }
        let lines = registry.text.split(separator: "\n")
        #expect(lines.count == 1 + PrometheusRegistry.seriesMax + 1)
        #expect(lines.contains("hits_total{overflow=\"true\"} 800"))
    }

    @Test("a gauge over the limit is missing, and the log names each metric over it once")
    func overflow() {
        let log = RecordedLog()
        let registry = PrometheusRegistry(logger: log.logger)
        for number in 0..<(PrometheusRegistry.seriesMax + 10) {
            let labels = [("id", "\(number)")]
            Gauge(label: "delay", dimensions: labels, factory: registry).record(number)
            Counter(label: "hits_total", dimensions: labels, factory: registry).increment()
        }
        let text = registry.text
        #expect(text.contains("\ndelay{id=\"199\"} 199\n"))
        #expect(!text.contains("delay{overflow"))
        #expect(text.contains("\npoller_metrics_refused_total 10\n"))
        #expect(log.all.count == 2)
        #expect(log.has("too many label sets", "metric=delay"))
        #expect(log.has("too many label sets", "metric=hits_total"))
    }

    @Test("requests keep their status when there are more routes and statuses than series")
    func statuses() {
        let registry = PrometheusRegistry(logger: LiveAPI.quiet)
        withMetricsFactory(registry) {
            let metrics = RequestMetrics()
            for number in 0..<PrometheusRegistry.seriesMax {
                let series = RequestMetrics.Series(
                    method: "GET",
                    route: "/\(number)",
                    status: 401
                )
                metrics.record(series, .milliseconds(1))
            }
            for route in ["/0", "/1"] {
                let series = RequestMetrics.Series(method: "GET", route: route, status: 503)
                metrics.record(series, .milliseconds(1))
            }
        }
        func total(_ status: Int) -> Int {
            registry.total("poller_http_requests_total") { $0.contains("status=\"\(status)\"") }
        }
        #expect(total(401) == PrometheusRegistry.seriesMax)
        #expect(total(503) == 2)
        #expect(registry.text.contains("{method=\"other\",route=\"other\",status=\"503\"} 2\n"))
        #expect(!registry.text.contains("overflow"))
        // The duration of a late route stays its own.
        let last = PrometheusRegistry.seriesMax - 1
        let duration = "poller_http_request_duration_seconds_count{route=\"/\(last)\"} 1\n"
        #expect(registry.text.contains(duration))
    }

    @Test("a destroyed gauge is not rendered any more, and the other gauges of its name are")
    func destroyed() {
        let registry = PrometheusRegistry(logger: LiveAPI.quiet)
        let first = Gauge(label: "reads", dimensions: [("id", "1")], factory: registry)
        first.record(1)
        Gauge(label: "reads", dimensions: [("id", "2")], factory: registry).record(2)
        first.destroy()
        #expect(registry.text == "# TYPE reads gauge\nreads{id=\"2\"} 2\n")
    }

    @Test("a name used for two kinds keeps the first, and the conflict is counted")
    func conflictingKinds() {
        let registry = PrometheusRegistry(logger: LiveAPI.quiet)
        Counter(label: "x_total", factory: registry).increment()
        Timer(label: "x_total", factory: registry).recordSeconds(1)
        #expect(registry.text.contains("x_total 1\n"))
        #expect(registry.text.contains("poller_metrics_refused_total 1\n"))
    }

    @Test("a counter without labels is rendered as 0 before its first increment")
    func begins() {
        let registry = PrometheusRegistry(logger: LiveAPI.quiet)
        registry.beginCounters()
        #expect(registry.text.contains("\npoller_endpoints_disabled_total 0\n"))
        #expect(registry.text.contains("\npoller_metrics_refused_total 0\n"))
        Counter(label: "poller_endpoints_disabled_total", factory: registry).increment()
        Timer(label: "poller_endpoints_disabled_total", factory: registry).recordSeconds(1)
        #expect(registry.text.contains("\npoller_endpoints_disabled_total 1\n"))
        #expect(registry.text.contains("\npoller_metrics_refused_total 1\n"))
        #expect(!registry.text.contains("poller_polls_total"), "its labels are not known yet")
    }

    @Test("increments from concurrent tasks are all counted")
    func concurrent() async {
        let registry = PrometheusRegistry(logger: LiveAPI.quiet)
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
    @Test("scrapes show the last read of the cluster, and whether it succeeded")
    func gauges() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.enqueue("src_2")
            try await api.bury("src_2", because: "no JSON")
            try await api.store.pause(LaneID(account: .main, kind: .source))
            try await api.announce("worker,api", host: "one")
            try await api.see([.quarantine])
            let registry = PrometheusRegistry(logger: LiveAPI.quiet)
            let clock = ManualClock()
            let gauges = ClusterGauges(
                backend: api.backend,
                clock: clock,
                wallClock: { Timestamp(ms: 1) },
                logger: LiveAPI.quiet,
                registry: registry
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
                    "poller_members{role=\"notifier\"} 0", "poller_outbox_undelivered 2",
                    "poller_store_up 1", "poller_deliveries_dead 0", "poller_endpoints_down 0",
                    "poller_workers_wanted 1",
                    "poller_incidents_open{kind=\"quarantine\"} 1",
                    "poller_incidents_open{kind=\"no_worker\"} 0",
                    "poller_set_aside_entries{reader=\"outbox\"} 0",
                ] {
                    #expect(lines.contains(line), "\(line) is not in \(registry.text)")
                }
                let age = registry.text.firstMatch(of: /oldest_overdue_seconds ([0-9.]+)\n/)
                #expect(Double(age?.1 ?? "") ?? 0 > 0)

                api.plan.setDown(true)
                clock.advance(by: ClusterGauges.period)
                await clock.waitForSleepers(1)
                #expect(registry.text.contains("poller_store_up 0\n"))
                #expect(!registry.text.contains("poller_watches_pending"), "not known any more")
                api.plan.setDown(false)
                clock.advance(by: ClusterGauges.period)
                await clock.waitForSleepers(1)
                #expect(registry.text.contains("poller_watches_pending 1\n"), "known again")
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }
    }
}

@Suite("The table of metrics")
struct MetricTableTests {
    @Test("the reference lists the sections and metrics of the table, in order")
    func reference() throws {
        let page = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .appending(path: "Sources/Poller/Poller.docc/Guides/Metrics.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        let documented = lines.filter { $0.hasPrefix("| `poller_") || $0.hasPrefix("### ") }
            .map(String.init)
        let rows = Metric.sections.flatMap { section in
            ["### \(section.title)"]
                + section.metrics.map { metric in
                    let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
                    return
                        "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) | \(metric.help) |"
                }
        }
        #expect(documented == rows)
    }

    @Test("metric names end as Prometheus recommends")
    func names() {
        for metric in Metric.all {
            #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter), "\(metric.name)")
            #expect(metric.kind != .histogram || metric.name.hasSuffix("_seconds"))
            #expect(metric.help.hasSuffix("."))
        }
    }
}
