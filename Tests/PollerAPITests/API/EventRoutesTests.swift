import Foundation
import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import Testing

@testable import PollerAPI
@testable import PollerWatches

@Suite("Recorded events")
struct EventRoutesTests {
    private func types(_ answer: Answer) -> [String] {
        answer.list("data").compactMap { $0["type"] as? String }
    }

    @Test("a watch's events are returned page by page in `seq` order, as recorded")
    func ofOneWatch() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            for status in ["pending", "chargeable", "consumed"] {
                try await api.see("src_1", status, final: status == "consumed")
            }
            let first = try await api.get("/v1/watches/src_1/events?limit=2")
            #expect(types(first) == ["source.pending", "source.chargeable"])
            #expect(first["next"] == "2")
            let second = try await api.get("/v1/watches/src_1/events?after_seq=2")
            #expect(types(second) == ["source.consumed"])
            #expect(second.json["has_more"] as? Bool == false)
            let key = WatchKey("src_1")
            let stored = try await api.store.events(of: key, after: 2, limit: 1)
            #expect(second.text.contains(try #require(stored.first).json))
            #expect(try await api.get("/v1/watches/src_2/events").status == 404)
        }
    }

    @Test("pages contain each event of all partitions once, in `seq` order within a source")
    func ofAll() async throws {
        try await LiveAPI.run { api in
            for number in 0..<12 {
                let body = #"{"source":"src_\#(number)","account":"acct_\#(number)"}"#
                _ = try await api.post("/v1/watches", body)
            }
            for status in ["pending", "chargeable"] {
                for number in 0..<12 { try await api.see("src_\(number)", status) }
            }
            var seen: [String: [Int]] = [:]
            var query = "from=oldest"
            var hasMore = true
            while hasMore {
                let page = try await api.get("/v1/events?limit=5&\(query)")
                #expect(page.status == 200)
                for event in page.list("data") {
                    let source = try #require(event["source"] as? String)
                    seen[source, default: []].append(try #require(event["seq"] as? Int))
                }
                query = "cursor=\(try #require(page["next"]))"
                hasMore = page.json["has_more"] as? Bool ?? false
            }
            #expect(seen.count == 12)
            #expect(seen.values.allSatisfy { $0 == [1, 2] })
        }
    }

    @Test("a reader from `now` waits for the next event that passes its filter")
    func waits() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.see("src_1", "pending")
            let now = try await api.get("/v1/events?from=now")
            #expect(now.list("data").isEmpty)
            let cursor = try #require(now["next"])
            async let waiting = api.get(
                "/v1/events?cursor=\(cursor)&wait=15s&types=source.consumed,watch.*"
            )
            try await api.see("src_1", "chargeable")
            try await api.see("src_1", "consumed", final: true)
            #expect(types(try await waiting) == ["source.consumed"])
            let all = try await api.get("/v1/events?cursor=\(cursor)&source=src_1,src_9")
            #expect(types(all) == ["source.chargeable", "source.consumed"])
            #expect(types(try await api.get("/v1/events?account=nobody")).isEmpty)
        }
    }

    @Test("a cursor before trimmed events, or of a store that lost its writes, reports a gap")
    func gaps() async throws {
        try await LiveAPI.run(partitions: 1) { api in
            try await api.enqueue("src_1")
            try await api.see("src_1", "pending")
            let first = try await api.get("/v1/events?limit=1")
            let cursor = try #require(first["next"])
            #expect(first.json["gap"] as? Bool == false)
            try await api.see("src_1", "chargeable")
            let entries = try await api.outbox.unacknowledged(0, idle: .zero)
            try await api.outbox.acknowledge(partition: 0, entries.map(\.id))
            try await api.outbox.trim(partition: 0, retention: .seconds(-60))
            try await api.see("src_1", "consumed", final: true)
            let behind = try await api.get("/v1/events?cursor=\(cursor)")
            #expect(behind.json["gap"] as? Bool == true)
            #expect(types(behind) == ["source.consumed"])
            let future = OutboxCursor(positions: [.init(ms: 99_999_999_999_999, n: 0)]).text
            let lost = try await api.get("/v1/events?cursor=\(future)&wait=30s")
            #expect(lost.json["gap"] as? Bool == true)
            #expect(types(lost) == ["source.consumed"])
        }
    }

    @Test(
        "invalid cursors, starts and filters are rejected",
        arguments: [
            "cursor=abc", "cursor=../..", "cursor=%00", "from=yesterday", "from=now&cursor=MTo",
            "limit=0", "limit=501", "types=So%20rt", "types=,", "source=a/b", "wait=2m",
        ]
    )
    func badQueries(query: String) async throws {
        try await LiveAPI.run { api in
            let answer = try await api.get("/v1/events?\(query)")
            #expect(answer.status == 400)
            #expect(answer.code == "invalid_parameter")
            #expect(answer["field"] != nil)
        }
    }

    @Test("reading from a time begins with the events recorded then")
    func fromTime() async throws {
        try await LiveAPI.run(partitions: 1) { api in
            try await api.enqueue("src_1")
            try await api.see("src_1", "pending")
            try await api.see("src_1", "chargeable")
            let entries = try await api.outbox.unacknowledged(0, idle: .zero)
            let last = try #require(entries.last.flatMap { OutboxPosition($0.id) })
            let time = Timestamp(ms: Int64(last.ms))
            let found = types(try await api.get("/v1/events?from=\(time)"))
            #expect(found.last == "source.chargeable")
            let later = Timestamp(ms: Int64(last.ms) + 1)
            #expect(types(try await api.get("/v1/events?from=\(later)")).isEmpty)
        }
    }
}
