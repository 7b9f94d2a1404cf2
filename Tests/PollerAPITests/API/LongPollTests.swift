import NIOHTTP1
import PollerDeliveries
import PollerIdentity
import PollerNet
import PollerQueue
import PollerTesting
import Synchronization
import Testing

@testable import PollerAPI

@Suite("Long polls")
struct LongPollTests {
    @Test("a newer `seq` is returned at once, and an unchanged watch gets 304")
    func atOnce() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.see("src_1", "pending")
            #expect(try await api.get("/v1/watches/src_1?after_seq=0&wait=30s").number("seq") == 1)
            let none = try await api.get("/v1/watches/src_1?after_seq=1")
            #expect(none.status == 304)
            #expect(none.text.isEmpty)
            #expect(try await api.get("/v1/watches/src_1?after_seq=1&wait=20ms").status == 304)
        }
    }

    @Test("a waiting request returns after a change of its source, not of another one")
    func wokenByChange() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.enqueue("src_2")
            async let waiting = api.get("/v1/watches/src_1?after_seq=0&wait=55s")
            try await eventually("the request waits") { api.feed.listened == 1 }
            // After a complete other request, the first one has read once.
            _ = try await api.get("/v1/watches/src_1")
            try await api.see("src_2", "chargeable")
            try await api.see("src_1", "chargeable")
            let answer = try await waiting
            #expect(answer.status == 200)
            #expect(answer["status"] == "chargeable")
        }
    }

    @Test("several waiting requests all get a response")
    func several() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await withThrowingTaskGroup(of: Int.self) { group in
                // The number of connections that the test client opens to one server.
                for _ in 0..<8 {
                    group.addTask {
                        try await api.get("/v1/watches/src_1?after_seq=0&wait=55s").status
                    }
                }
                try await eventually("all wait") { api.feed.listened == 8 }
                try await api.see("src_1", "pending")
                for try await status in group { #expect(status == 200) }
            }
        }
    }

    @Test("a waiting request whose key is revoked ends with 401", .timeLimit(.minutes(5)))
    func revoked() async throws {
        let admin = "key-of-ada-0123456789abc"
        try await LiveAPI.run(keys: KeyFile(text: "\(admin) role=admin")) { api in
            let json = ["Authorization": "Bearer \(admin)", "Content-Type": "application/json"]
            let watch = #"{"source":"src_1"}"#
            _ = try await api.request(.POST, "/v1/watches", body: watch, headers: json)
            let requestBody = #"{"role":"viewer"}"#
            let made = try await api.request(.POST, "/v1/keys", body: requestBody, headers: json)
            let (id, key) = (try #require(made["id"]), try #require(made["key"]))
            let own = ["Authorization": "Bearer \(key)"]
            async let first = api.get("/v1/watches/src_1?after_seq=0&wait=55s", headers: own)
            async let second = api.get("/v1/events?wait=55s", headers: own)
            try await eventually("both wait") { api.feed.listened == 2 }
            let clock = ContinuousClock()
            let start = clock.now
            let gone = try await api.request(.DELETE, "/v1/keys/\(id)", headers: json)
            #expect(gone.status == 200)
            let statuses = try await [first.status, second.status]
            #expect(statuses == [401, 401])
            // Much longer than a second, for a busy machine, and before the waits are over.
            #expect(start.duration(to: clock.now) < .seconds(45))
        }
    }

    @Test("a waiting request survives a short store outage, and soon fails in a longer one")
    func lossOfStore() async throws {
        let clock = ManualClock()
        let isReachable = Mutex(true)
        let polls = LongPolls(feed: NoEvents(), addresses: .half, clock: clock) {
            isReachable.withLock(\.self)
        }
        await withThrowingTaskGroup(of: Int?.self) { group in
            group.addTask {
                try await polls.first(within: .seconds(30), matching: .everything) { nil as Int? }
            }
            // Unavailable for one second.
            for isThere in [false, true, false] {
                await clock.waitForSleepers(2)
                isReachable.withLock { $0 = isThere }
                clock.advance(by: .seconds(1))
            }
            await clock.waitForSleepers(2)
            clock.advance(by: .seconds(1))
            guard case .failure(let failure)? = await group.nextResult() else {
                Issue.record("it waits on, or was answered")
                return
            }
            #expect(failure is StoreError)
        }
    }

    /// A feed without events.
    private struct NoEvents: EventFeed {
        func listen(bufferMax: Int, to interest: Interest) -> AsyncStream<FeedItem> {
            AsyncStream { _ in }
        }
    }

    @Test("a graceful shutdown ends waiting requests with 304")
    func shutdown() async throws {
        let clock = ContinuousClock()
        var start = clock.now
        try await withThrowingTaskGroup(of: Int.self) { group in
            try await LiveAPI.run { api in
                try await api.enqueue("src_1")
                group.addTask {
                    try await api.get("/v1/watches/src_1?after_seq=0&wait=60s").status
                }
                try await eventually("the request waits") { api.feed.listened == 1 }
                start = clock.now
            }
            for try await status in group { #expect(status == 304) }
        }
        #expect(start.duration(to: clock.now) < .seconds(50))
    }

    @Test(
        "invalid waits are rejected",
        arguments: ["wait=61s", "wait=-1s", "wait=5", "wait=1h", "wait=5s&after_seq=-1"]
    )
    func badWaits(query: String) async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            let separator = query.contains("after_seq") ? "" : "&after_seq=0"
            let answer = try await api.get("/v1/watches/src_1?\(query)\(separator)")
            #expect(answer.status == 400)
            #expect(answer.code == "invalid_parameter")
        }
    }

    @Test("the error of `wait` without `after_seq` names `after_seq`")
    func waitAlone() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            let answer = try await api.get("/v1/watches/src_1?wait=5s")
            #expect(answer.status == 400)
            #expect(answer["detail"]?.contains("after_seq") == true)
        }
    }
}
