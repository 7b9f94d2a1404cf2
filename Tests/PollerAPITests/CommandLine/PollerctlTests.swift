import Foundation
import PollerIdentity
import PollerQueue
import PollerTesting
import Testing

@testable import PollerAPI
@testable import PollerWatches

@Suite("pollerctl as a process")
struct PollerctlTests {
    @Test("enqueue, get, list, poll, cancel, events and stats work")
    func everyDay() async throws {
        try await LiveAPI.run { api in
            let enqueued = try await CommandRun.pollerctl(
                "enqueue",
                "src_1",
                "pi_2",
                "src_1",
                "--policy",
                "interactive",
                "--timeout",
                "5m",
                "--notify",
                "https://shop.example/h",
                "--metadata",
                "order=4711",
                "--json",
                url: api.url
            )
            #expect(enqueued.status == 0, "\(enqueued.errors)")
            #expect(enqueued.output.contains(#""created":2"#))
            #expect(enqueued.output.contains(#""duplicates":1"#))
            try await api.see("src_1", "chargeable")

            #expect(enqueued.output.contains(#""replacement":"payment_intent""#))
            #expect(enqueued.errors.isEmpty, "\(enqueued.errors)")

            let got = try await CommandRun.pollerctl("get", "src_1", "--json", url: api.url)
            let sent = try await api.get("/v1/watches/src_1").text
            #expect(got.output == sent + "\n")
            let shown = try await CommandRun.pollerctl("get", "src_1", url: api.url)
            #expect(shown.output.contains("chargeable"))
            #expect(shown.output.contains("order=4711"))
            #expect(shown.output.contains("https://docs.stripe.com/payments"))
            let listed = try await CommandRun.pollerctl("list", url: api.url)
            #expect(listed.output.split(separator: "\n").count == 2)
            #expect(listed.output.contains("src_1\topen\tchargeable\t1\t1\t"))
            #expect(try await CommandRun.pollerctl("poll", "src_1", url: api.url).status == 0)
            #expect(try await CommandRun.pollerctl("cancel", "pi_2", url: api.url).status == 0)
            let events = try await CommandRun.pollerctl("events", "src_1", "--json", url: api.url)
            #expect(events.output.contains(#""type":"source.chargeable""#))
            let stats = try await CommandRun.pollerctl("stats", "--json", url: api.url)
            #expect(stats.output.contains(#""pending":1"#))
        }
    }

    @Test("10,000 ids with duplicates create one watch per distinct id")
    func manyIDs() async throws {
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("ids-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let ids = (0..<10_000).map { "src_\($0 % 6_000)" }
        try Data(("# ours\r\n" + ids.joined(separator: "\r\n")).utf8).write(to: file)
        try await LiveAPI.run { api in
            let done = try await CommandRun.pollerctl("enqueue", "--file", file.path, url: api.url)
            #expect(done.status == 0, "\(done.errors)")
            #expect(done.output.contains("6000 created"))
            #expect(done.output.contains("4000 duplicates"))
            // Progress is printed only on a terminal, advice always.
            #expect(done.errors.split(separator: "\n").count == 1, "\(done.errors)")
            #expect(done.errors.hasPrefix("pollerctl: deprecated: "))
            #expect(try await api.store.stats().pending == 6_000)
        }
    }

    @Test("an invalid id in a file is reported with its line, and nothing is enqueued")
    func wrongLine() async throws {
        try await LiveAPI.run { api in
            var lines = (0..<5000).map { "src_\($0)" }
            lines[4998] = "src 4999"
            lines[4999] = "src_\0"
            let done = try await CommandRun.pollerctl(
                "enqueue",
                "--file",
                "-",
                url: api.url,
                input: lines.joined(separator: "\n")
            )
            #expect(done.status == 64)
            #expect(done.errors.contains("line 4999"))
            #expect(done.errors.contains("line 5000"))
            #expect(!done.errors.contains("\0"))
            #expect(try await api.store.stats().pending == 0)
        }
    }

    @Test("follow shows past and new events and ends when the source is closed")
    func follow() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.see("src_1", "pending")
            async let run = CommandRun.pollerctl("follow", "src_1", url: api.url)
            try await api.see("src_1", "chargeable")
            try await api.see("src_1", "consumed", final: true)
            let done = try await run
            #expect(done.status == 0, "\(done.errors)")
            let types = done.output.split(separator: "\n").map { $0.split(separator: "\t")[3] }
            #expect(types == ["source.pending", "source.chargeable", "source.consumed"])
            let again = try await CommandRun.pollerctl(
                "follow",
                "src_1",
                "--after",
                "3",
                url: api.url
            )
            #expect(again.status == 0)
            #expect(again.output.isEmpty)
        }
    }

    @Test("wait exits with 0 reached, 2 closed otherwise, 3 timed out, 1 unknown")
    func wait() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            let late = try await CommandRun.pollerctl(
                "wait",
                "src_1",
                "--timeout",
                "50ms",
                url: api.url
            )
            #expect(late.status == 3)
            async let waiting = CommandRun.pollerctl("wait", "src_1", url: api.url)
            try await api.see("src_1", "failed", final: true)
            #expect(try await waiting.status == 0)
            let never = try await CommandRun.pollerctl(
                "wait",
                "src_1",
                "--until",
                "chargeable",
                url: api.url
            )
            #expect(never.status == 2)
            #expect(try await CommandRun.pollerctl("wait", "src_9", url: api.url).status == 1)
        }
    }

    @Test("doctor prints advice and exits with 1 if a check failed")
    func doctor() async throws {
        struct Failing: HealthCheck {
            var name: String { "redis.eviction" }

            func run() async -> HealthResult {
                HealthResult(.failed, "is \u{1B}[31mallkeys-lru", action: "Set noeviction.")
            }
        }
        try await LiveAPI.run(checks: [Failing()]) { api in
            let done = try await CommandRun.pollerctl("doctor", url: api.url)
            #expect(done.status == 1)
            #expect(done.output.hasPrefix("failed   redis.eviction: "), "\(done.output)")
            #expect(done.output.contains("Set noeviction."))
            #expect(!done.output.contains("\u{1B}"), "a server must not steer the terminal")
        }
    }

    @Test("exit statuses distinguish usage, an unreachable server and a missing permission")
    func exitStatuses() async throws {
        let nowhere = "http://127.0.0.1:1"
        for command in ["enqueue", "get", "poll", "cancel", "events", "wait", "follow"] {
            let done = try await CommandRun.pollerctl(command, "src_1", url: nowhere)
            #expect(done.status == 69, "\(command): \(done.errors)")
            #expect(done.errors.contains("127.0.0.1:1"))
        }
        #expect(try await CommandRun.pollerctl("doctor", url: nowhere).status == 69)
        for usage in [["enqueue"], ["wait"], ["frobnicate"], ["get", "a", "--nope"]] {
            let done = try await CommandRun.run(usage, url: nowhere)
            #expect(done.status == 64, "\(usage): \(done.errors)")
        }
        let negative = try await CommandRun.pollerctl(
            "enqueue",
            "src_1",
            "--timeout",
            "-5m",
            url: nowhere
        )
        #expect(negative.status == 64)
        let keys = try KeyFile(text: "pk_0123456789abcdef0123")
        try await LiveAPI.run(keys: keys) { api in
            let none = try await CommandRun.pollerctl("list", url: api.url)
            #expect(none.status == 77)
            #expect(none.errors.contains("POLLER_API_KEY"))
            let right = try await CommandRun.pollerctl(
                "list",
                url: api.url,
                key: "pk_0123456789abcdef0123"
            )
            #expect(right.status == 0)
        }
    }
}
