import Foundation
import Metrics
import NIOHTTP1
import PollerIdentity
import PollerQueue
import PollerTesting
import ServiceLifecycle
import Synchronization
import Testing

@testable import PollerAPI

@Suite("Operator routes")
struct OperatorRoutesTests {
    private struct Check: HealthCheck {
        let name: String
        let result: HealthResult

        func run() async -> HealthResult { result }
    }

    @Test("the doctor lists every check in order, and is healthy if none failed")
    func doctor() async throws {
        let warning = Check(
            name: "redis.persistence",
            result: HealthResult(.warning, "AOF is off", action: "Set appendonly yes.")
        )
        let failed = Check(name: "smtp", result: HealthResult(.failed, "refused", action: "Look."))
        try await LiveAPI.run(checks: [warning]) { api in
            let answer = try await api.get("/v1/doctor")
            #expect(answer.json["healthy"] as? Bool == true)
            #expect(answer.list("checks").first?["action"] as? String == "Set appendonly yes.")
        }
        try await LiveAPI.run(checks: [warning, failed]) { api in
            let answer = try await api.get("/v1/doctor")
            #expect(answer.status == 200)
            #expect(answer.json["healthy"] as? Bool == false)
            #expect(
                answer.list("checks").map { $0["name"] as? String } == [
                    "redis.persistence", "smtp", "workers", "notifiers", "backlog", "lanes",
                    "credentials", "quarantine", "outbox", "deliveries",
                ]
            )
        }
    }

    @Test("the doctor reports paused lanes, quarantine, missing processes and an unavailable store")
    func doctorOfTheCluster() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            let alone = try await api.get("/v1/doctor")
            #expect(alone.json["healthy"] as? Bool == false, "a watch waits and nobody polls")
            try await api.announce("worker,notifier", host: "one")
            try await api.bury("src_1", because: "no JSON")
            _ = try await api.post("/v1/lanes/default/sources/pause")
            let answer = try await api.get("/v1/doctor")
            #expect(answer.json["healthy"] as? Bool == true)
            let statuses = answer.list("checks").map { $0["status"] as? String }
            let wanted = ["ok", "ok", "ok", "warning", "ok", "warning", "ok", "ok"]
            #expect(statuses == wanted, "\(answer.text)")
            api.plan.setDown(true)
            let blind = try await api.get("/v1/doctor")
            #expect(blind.json["healthy"] as? Bool == false)
            #expect(blind.list("checks").map { $0["name"] as? String } == ["cluster"])
        }
    }

    @Test("the workers list contains each process until it leaves")
    func workers() async throws {
        try await LiveAPI.run { api in
            #expect(try await api.get("/v1/workers").list("data").isEmpty)
            try await api.announce("worker,notifier", host: "two", inFlight: 7)
            try await api.announce("api", host: "one")
            let page = try await api.get("/v1/workers")
            #expect(page.json["has_more"] as? Bool == false)
            let workers = page.list("data")
            #expect(workers.map { $0["host"] as? String } == ["one", "two"])
            #expect(workers.last?["roles"] as? [String] == ["worker", "notifier"])
            #expect(workers.last?["in_flight"] as? Int == 7)
            #expect(workers.last?["pid"] as? Int == 4711)
            #expect(workers.last?["started_at"] as? String == "2026-05-28T20:26:40.000Z")
            try await api.members.leave(OwnerID(unchecked: "owner-two"))
            #expect(try await api.get("/v1/workers").list("data").count == 1)
        }
    }

    @Test("departed workers are listed with how they left, the latest first")
    func departures() async throws {
        try await LiveAPI.run { api in
            #expect(try await api.get("/v1/workers/departed").list("data").isEmpty)
            let lost = Member(
                owner: OwnerID(unchecked: "owner-lost"),
                roles: "worker",
                pid: 1,
                host: "lost",
                version: "1.2.3",
                startedAt: Timestamp(ms: 1_780_000_000_000),
                inFlight: 3
            )
            _ = try await api.members.beat(lost, for: .milliseconds(1))
            try await eventually("it is taken for lost") {
                try await api.announce("api", host: "one")
                return try await !api.get("/v1/workers/departed").list("data").isEmpty
            }
            try await api.members.leave(OwnerID(unchecked: "owner-one"))
            let departed = try await api.get("/v1/workers/departed").list("data")
            #expect(departed.map { $0["how"] as? String } == ["clean", "lost"])
            let process = try #require(departed.last?["process"] as? [String: Any])
            #expect(process["host"] as? String == "lost" && process["in_flight"] as? Int == 3)
            #expect(departed.last?["departed_at"] is String)
        }
    }

    @Test("stats count both queues, lanes, overdue time, quarantine and processes")
    func stats() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.enqueue("src_2")
            try await api.bury("src_2", because: "no JSON")
            try await api.announce("worker", host: "one")
            try await api.store.pause(LaneID(account: .main, kind: .source))
            var answer = try await api.get("/v1/stats")
            let watches = try #require(answer.json["watches"] as? [String: Int])
            #expect(watches["pending"] == 1)
            #expect((answer.json["deliveries"] as? [String: Int])?["pending"] == 0)
            let lanes = try #require(answer.json["lanes"] as? [String: Any])
            #expect(lanes["total"] as? Int == 1)
            #expect(lanes["paused"] as? Int == 1)
            #expect(lanes["flowing"] as? Int == 0)
            #expect(lanes["complete"] as? Bool == true)
            #expect(answer.number("quarantined") == 1)
            #expect(answer.number("workers") == 1)
            #expect(answer.number("workers_wanted") == 1)
            #expect(answer.number("notifiers") == 0)
            #expect(answer.number("late_after_ms") == 15_000)
            try await eventually("the watch is late") {
                answer = try await api.get("/v1/stats")
                return answer.number("oldest_overdue_ms") ?? 0 > 0
            }
        }
    }

    @Test("the admin listener serves liveness, readiness with reasons, and metrics")
    func admin() async throws {
        let registry = PrometheusRegistry(logger: LiveAPI.quiet)
        Counter(label: "poller_polls_total", factory: registry).increment(by: 3)
        let (ports, bound) = AsyncStream.makeStream(of: Int.self)
        let isReady = Mutex(false)
        let server = AdminServer(
            bind: ListenAddress(host: "127.0.0.1", port: 0),
            logger: LiveAPI.quiet,
            notReady: { isReady.withLock(\.self) ? [] : ["redis: not connected"] },
            notices: { isReady.withLock(\.self) ? ["redis: 1 of 3 masters away: r3:6379"] : [] },
            metrics: { registry.text },
            onBound: { bound.yield($0.port) }
        )
        let group = ServiceGroup(services: [server], logger: LiveAPI.quiet)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var iterator = ports.makeAsyncIterator()
            let port = try #require(await iterator.next())
            let api = Loopback(port: port)
            #expect(try await api.get("/livez").text == "ok\n")
            let ready = try await api.get("/readyz")
            #expect(ready.status == 503)
            #expect(ready.text == "redis: not connected\n")
            // One unavailable shard does not stop the work, because the others are served.
            isReady.withLock { $0 = true }
            let partly = try await api.get("/readyz")
            #expect(partly.status == 200)
            #expect(partly.text == "ok\nredis: 1 of 3 masters away: r3:6379\n")
            // A page of another site that was redirected to this machine (DNS rebinding) can read nothing.
            for (host, status) in [("evil.example:\(port)", 403), ("localhost:\(port)", 200)] {
                let rebound = try await api.get("/metrics", headers: ["Host": host])
                #expect(rebound.status == status, "\(rebound.text)")
            }
            let metrics = try await api.get("/metrics")
            #expect(metrics.text.contains("poller_polls_total 3\n"))
            #expect(
                metrics.headers.first(name: "Content-Type")?.contains("version=0.0.4") == true
            )
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }
}
