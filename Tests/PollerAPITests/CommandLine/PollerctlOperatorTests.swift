import Foundation
import PollerIncidents
import PollerQueue
import PollerTesting
import Testing

@testable import PollerAPI

@Suite("pollerctl for operators")
struct PollerctlOperatorTests {
    @Test("incident list shows open incidents, then resolved ones")
    func incidents() async throws {
        try await LiveAPI.run { api in
            try await api.see([.noWorker])
            try await api.see([.quarantine])
            let listed = try await CommandRun.pollerctl("incident", "list", url: api.url)
            #expect(listed.status == 0, "\(listed.errors)")
            let lines = listed.output.split(separator: "\n").map { $0.split(separator: "\t") }
            #expect(
                lines.map { $0.prefix(2) } == [["open", "quarantine"], ["resolved", "no_worker"]]
            )
            #expect(lines[0][3] == "-" && lines[0][5] == "quarantine is seen")
            let open = try await CommandRun.pollerctl(
                "incident",
                "list",
                "--open",
                "--json",
                url: api.url
            )
            #expect(open.output.split(separator: "\n").count == 1)
            #expect(open.output.contains(#""action":"mend it""#))
        }
    }

    @Test("lane pause, limit, list, get and resume work")
    func lanes() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            let id = "default/sources"
            let paused = try await CommandRun.pollerctl("lane", "pause", id, url: api.url)
            #expect(paused.status == 0, "\(paused.errors)")
            #expect(paused.output == "default/sources is paused: 0 in flight, 1 waiting\n")
            let limited = try await CommandRun.pollerctl(
                "lane",
                "limit",
                id,
                "--rate",
                "2.5",
                "--burst",
                "1",
                url: api.url
            )
            #expect(limited.output == "default/sources has a custom limit: 2.5/s + 1, 20 at once\n")
            let listed = try await CommandRun.pollerctl("lane", "list", url: api.url)
            #expect(listed.output.hasPrefix("default/sources\tpaused\t1\t"))
            let json = try await CommandRun.pollerctl("lane", "list", "--json", url: api.url)
            #expect(json.output.contains(#""state":"paused""#))
            #expect(json.output.split(separator: "\n").count == 1)
            let got = try await CommandRun.pollerctl("lane", "get", id, url: api.url)
            #expect(got.output.contains("2.5/s + 1, 20 at once (custom)"))
            let back = try await CommandRun.pollerctl(
                "lane",
                "limit",
                id,
                "--default",
                url: api.url
            )
            #expect(back.output.contains("the default"))
            let resumed = try await CommandRun.pollerctl("lane", "resume", id, url: api.url)
            #expect(resumed.output == "default/sources is resumed: 1 waiting\n")
            try await api.see("src_1", "pending")
            let none = try await CommandRun.pollerctl("lane", "get", "x/sources", url: api.url)
            #expect(none.status == 1)
            #expect(none.errors.contains("is empty and has no settings"))
            let wrong = try await CommandRun.pollerctl("lane", "pause", "sources", url: api.url)
            #expect(wrong.status == 64)
            #expect(wrong.errors.contains("default/sources"))
        }
    }

    @Test("a lane without a running worker has the state `no worker`")
    func standstill() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            let alone = try await CommandRun.pollerctl("lane", "list", url: api.url)
            #expect(alone.output.hasPrefix("default/sources\tno worker\t"), "\(alone.output)")
            let get = ["lane", "get", "default/sources"]
            let one = try await CommandRun.pollerctl(get[0], get[1], get[2], url: api.url)
            #expect(one.output.contains("no worker"))
            try await api.announce("worker", host: "one")
            let served = try await CommandRun.pollerctl("lane", "list", url: api.url)
            #expect(served.output.hasPrefix("default/sources\tflowing\t"), "\(served.output)")
        }
    }

    @Test("quarantine list shows the reason; redrive takes sources or --all and reports failures")
    func quarantine() async throws {
        try await LiveAPI.run { api in
            for source in ["src_1", "src_2", "src_3"] {
                try await api.enqueue(source)
                try await api.bury(source, because: "no JSON at byte 0")
            }
            let listed = try await CommandRun.pollerctl("quarantine", "list", url: api.url)
            #expect(listed.output.split(separator: "\n").count == 3)
            #expect(listed.output.contains("src_1\tdefault\tsource\t0\tno JSON at byte 0"))
            let some = try await CommandRun.pollerctl(
                "quarantine",
                "redrive",
                "src_9",
                "src_2",
                url: api.url
            )
            #expect(some.status == 1)
            #expect(some.output == "src_2 is watched again\n")
            #expect(some.errors.contains("src_9"))
            let all = try await CommandRun.pollerctl(
                "quarantine",
                "redrive",
                "--all",
                "--json",
                url: api.url
            )
            #expect(all.status == 0, "\(all.errors)")
            #expect(all.output.split(separator: "\n").count == 2)
            #expect(try await api.get("/v1/quarantine").list("data").isEmpty)
            let empty = try await CommandRun.pollerctl(
                "quarantine",
                "redrive",
                "--all",
                url: api.url
            )
            #expect(empty.output == "quarantine is empty\n")
        }
    }

    @Test("dismiss removes sources, a search's matches or everything from quarantine")
    func dismiss() async throws {
        try await LiveAPI.run { api in
            for source in ["src_1", "src_2", "src_3"] {
                try await api.enqueue(source)
                try await api.bury(source, because: "no JSON at byte 0")
            }
            func dismiss(_ arguments: String...) async throws -> CommandRun {
                try await CommandRun.run(arguments, url: api.url)
            }
            let one = try await dismiss("quarantine", "dismiss", "src_1")
            #expect(one.output == "src_1 is out of quarantine\n", "\(one)")
            let counted = try await dismiss("batch", "dismiss", "source=src_2")
            #expect(counted.output == "1 watches would be out of quarantine; add --yes to do it\n")
            #expect(try await api.get("/v1/quarantine").list("data").count == 2)
            let found = try await dismiss("batch", "dismiss", "source=src_2", "--yes")
            #expect(found.output == "1 of 1 watches: out of quarantine\n", "\(found)")
            let all = try await dismiss("quarantine", "dismiss", "--all")
            #expect(all.output == "src_3 is out of quarantine\n", "\(all)")
            #expect(
                try await dismiss("quarantine", "dismiss", "--all").output
                    == "quarantine is empty\n"
            )
            #expect(try await dismiss("quarantine", "dismiss").status == 64)
        }
    }

    @Test("a command that an error of all sources stops says how many are left")
    func stopped() async throws {
        let key = "key-of-a-viewer-0123456789"
        try await LiveAPI.run(keys: KeyFile(text: "\(key) role=viewer name=vic")) { api in
            for arguments in [["quarantine", "dismiss"], ["poll"], ["cancel"]] {
                let done = try await CommandRun.run(
                    arguments + ["src_1", "src_2", "src_3"],
                    url: api.url,
                    key: key
                )
                #expect(done.status == 77 && done.output.isEmpty, "\(done)")
                #expect(done.errors.contains("stopped at src_1: 3 of 3 are left\n"), "\(done)")
            }
            let one = try await CommandRun.pollerctl("cancel", "src_1", url: api.url, key: key)
            #expect(one.status == 77 && !one.errors.contains("left"), "\(one)")
        }
    }

    @Test("worker list, explain, stats and top show the cluster, top once without a terminal")
    func looking() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.announce("worker,notifier", host: "box-1", inFlight: 3)
            _ = try await api.post("/v1/lanes/default/sources/pause")
            let workers = try await CommandRun.pollerctl("worker", "list", url: api.url)
            #expect(workers.output.hasPrefix("box-1\t4711\tworker,notifier\t3\t2026-05-28T20:26"))
            let explained = try await CommandRun.pollerctl("explain", "src_1", url: api.url)
            #expect(explained.output.contains("paused"))
            let json = try await CommandRun.pollerctl("explain", "src_1", "--json", url: api.url)
            #expect(json.output.contains(#""place":"waiting""#))
            #expect(json.output.contains(#""lane":{"id":"default/sources""#))
            let stats = try await CommandRun.pollerctl("stats", url: api.url)
            #expect(stats.output.hasPrefix("count\twatches\tdeliveries\npending\t1\t0\n"))
            #expect(stats.output.contains("lanes paused"))
            #expect(stats.output.contains("oldest overdue"))
            let top = try await CommandRun.pollerctl("top", url: api.url)
            #expect(top.status == 0, "\(top.errors)")
            for part in ["1 waiting", "1 overdue", "default/sources", "paused", "box-1"] {
                #expect(top.output.contains(part), "\(top.output)")
            }
            #expect(!top.output.contains("\u{1B}"), "no escape sequences without a terminal")
            let whole = try await CommandRun.pollerctl("top", "--json", url: api.url)
            let object = try JSONSerialization.jsonObject(with: Data(whole.output.utf8))
            #expect(Set((object as? [String: Any] ?? [:]).keys) == ["stats", "lanes", "workers"])
        }
    }

    @Test("worker departed lists the processes that were shut down or lost")
    func departed() async throws {
        try await LiveAPI.run { api in
            let none = try await CommandRun.pollerctl("worker", "departed", url: api.url)
            #expect(none.status == 0 && none.output.isEmpty, "\(none.errors)")
            try await api.announce("worker", host: "one")
            try await api.members.leave(OwnerID(unchecked: "owner-one"))
            let some = try await CommandRun.pollerctl("worker", "departed", url: api.url)
            #expect(
                some.output.hasPrefix("clean\t") && some.output.contains("\tone\t4711\tworker\t")
            )
            let json = try await CommandRun.pollerctl("worker", "departed", "--json", url: api.url)
            #expect(json.output.contains(#""how":"clean""#))
        }
    }

    @Test("doctor exits with 1 and gives advice when watches wait without a worker")
    func doctor() async throws {
        try await LiveAPI.run { api in
            #expect(try await CommandRun.pollerctl("doctor", url: api.url).status == 0)
            try await api.enqueue("src_1")
            let sick = try await CommandRun.pollerctl("doctor", url: api.url)
            #expect(sick.status == 1)
            #expect(sick.output.contains("workers: none is alive and 1 watches wait"))
            #expect(sick.output.contains("→ start one with pollerd worker"))
            try await api.announce("worker", host: "box-1")
            let mute = try await CommandRun.pollerctl("doctor", url: api.url)
            #expect(mute.status == 1 && mute.output.contains("notifiers: none delivers"))
            try await api.announce("notifier", host: "box-2")
            #expect(try await CommandRun.pollerctl("doctor", url: api.url).status == 0)
        }
    }

    @Test("wrong usage exits with 64, an unreachable server with 69")
    func exitStatuses() async throws {
        let nowhere = "http://127.0.0.1:1"
        for usage in [
            ["lane", "limit", "default/sources"],
            ["lane", "limit", "a/b", "--default", "--rate", "1"],
            ["lane", "limit", "a/b", "--rate", "nan"], ["lane", "pause"],
            ["quarantine", "redrive"], ["delivery", "dismiss"],
            ["delivery", "dismiss", "dlv_1_AAAAAAAAAAAA", "--all"],
            ["quarantine", "redrive", "--all", "src_1"], ["top", "--interval", "1ms"],
            ["follow", "--types", "chargeable"], ["delivery", "list", "--account", "a"],
            ["delivery", "list", "--kind", "charge"],
        ] {
            let done = try await CommandRun.run(usage, url: nowhere)
            #expect(done.status == 64, "\(usage): \(done.errors)")
        }
        for command in [
            ["lane", "list"], ["lane", "resume", "default/sources"], ["quarantine", "list"],
            ["worker", "list"], ["explain", "src_1"], ["top"], ["stats"],
        ] {
            let done = try await CommandRun.run(command, url: nowhere)
            #expect(done.status == 69, "\(command): \(done.errors)")
            #expect(done.errors.contains(": Connection refused\n"), "\(done.errors)")
        }
    }
}
