import Poller
import PollerTesting
import ServiceLifecycle
import Testing

@testable import PollerAPI

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

                api.plan.fail(.read, [.refused])
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
