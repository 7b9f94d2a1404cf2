import Foundation
import JSONText
import PollerDeliveries
import PollerQueue
import PollerTesting
import PollerWire
import Testing

@testable import PollerAPI
@testable import PollerClient

@Suite("The client library")
struct PollerClientTests {
    @Test("enqueues, reads, lists, polls and cancels")
    func everyDay() async throws {
        try await LiveAPI.run { api in
            let client = try api.client()
            let watch = try await client.enqueue(
                WatchRequest(
                    "src_1",
                    policy: "patient",
                    timeout: .seconds(90),
                    notify: ["mailto:shop@example.com"],
                    metadata: ["order": "ü\"4711"]
                )
            )
            #expect(watch.outcome == "created")
            #expect(watch.metadata == ["order": "ü\"4711"])
            #expect(watch.deadlineAt.timeIntervalSince(watch.createdAt) == 90)
            #expect(try await client.poll("src_1").isOpen)
            #expect(try await client.list(state: "open").items.map(\.source) == ["src_1"])
            #expect(try await client.cancel("src_1").closedReason == "cancelled")
            #expect(try await client.stats().watches.closed == 1)
            try await api.announce("worker,notifier", host: "one")
            #expect(try await client.health().healthy)
        }
    }

    @Test("errors carry the server's code and field, and an unreachable server is transient")
    func errors() async throws {
        try await LiveAPI.run { api in
            let client = try api.client()
            let problem = await #expect(throws: PollerError.self) {
                try await client.enqueue(WatchRequest("src_1", policy: "hourly"))
            }
            guard case .problem(let detail) = problem else {
                throw UnexpectedAnswer(text: "\(String(describing: problem))")
            }
            #expect(detail.code == "invalid_value")
            #expect(detail.field == "policy")
            #expect(detail.requestID?.isEmpty == false)
        }
        let nowhere = await #expect(throws: PollerError.self) {
            try await PollerClient.withClient(url: "http://127.0.0.1:1") { try await $0.stats() }
        }
        #expect(nowhere?.isTransient == true)
        #expect(nowhere?.description.contains("127.0.0.1:1") == true)
    }

    @Test(
        "invalid URLs are rejected",
        arguments: [
            "", "127.0.0.1:8080", "ftp://h", "http://", "http://:80", "http://h/?q", "http://a b",
        ]
    )
    func badURLs(url: String) {
        #expect(throws: PollerError.self) { try PollerClient(url: url) }
    }

    @Test("many requests are sent in parts, and error indexes count from the first request")
    func parts() async throws {
        try await LiveAPI.run { api in
            let client = try api.client()
            var requests = (0..<4500).map { WatchRequest(WatchName("src_\($0 % 4400)")) }
            let result = try await client.enqueue(requests)
            #expect(result.created == 4400)
            // Equal requests in two parts join in the store.
            #expect(result.joined + result.duplicates == 100)
            requests[4321] = WatchRequest("src 4321")
            let error = await #expect(throws: PollerError.self) {
                try await client.enqueue(requests)
            }
            guard case .problem(let problem) = error else { return }
            #expect(problem.items.first?.index == 4321)
        }
    }

    @Test("a part with a lost response is sent again and enqueued once")
    func lostAnswer() async throws {
        try await LiveAPI.run { api in
            api.plan.fail(.other, [.answerLost])
            let result = try await api.client().enqueue([WatchRequest("src_1")])
            #expect(result.joined == 1)
            #expect(try await api.client().list().items.count == 1)
        }
    }

    @Test("following a watch returns its past and new events once each, in order")
    func followNamed() async throws {
        try await LiveAPI.run { api in
            let client = try api.client()
            try await api.enqueue("src_1")
            try await api.enqueue("src_2")
            try await api.see("src_1", "pending")
            let followed = Task {
                var seen: [String] = []
                for try await item in client.follow(["src_1"]) {
                    guard case .event(let event) = item else { continue }
                    seen.append("\(event.seq) \(event.type)")
                    if event.isFinal { return seen }
                }
                return seen
            }
            try await api.see("src_2", "pending")
            try await api.see("src_1", "chargeable")
            try await api.see("src_1", "consumed", final: true)
            #expect(
                try await followed.value == [
                    "1 source.pending", "2 source.chargeable", "3 source.consumed",
                ]
            )
        }
    }

    @Test("a key of one account follows a watch without its account", .timeLimit(.minutes(5)))
    func followBound() async throws {
        let key = "key-of-acme-0123456789"
        try await LiveAPI.run(keys: KeyFile(text: "\(key) role=admin account=acme")) { api in
            let client = try api.client(key: key)
            let watch = try await client.enqueue(WatchRequest("src_1"))
            #expect(watch.account == "acme")
            try await api.see("src_1", "pending")
            var events = client.events(for: "src_1").makeAsyncIterator()
            #expect(try await events.next()?.status == "pending")
            try await api.see("src_1", "consumed", final: true)
            #expect(try await events.next()?.status == "consumed")
        }
    }

    @Test(
        "the events of a source that was enqueued again end when it is closed again",
        .timeLimit(.minutes(5))
    )
    func followAgain() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.see("src_1", "failed", final: true)
            try await api.enqueue("src_1")
            var events = try api.client().events(for: "src_1").makeAsyncIterator()
            #expect(try await events.next()?.closedReason == "settled")
            try await api.see("src_1", "pending")
            #expect(try await events.next()?.status == "pending")
            try await api.see("src_1", "consumed", final: true)
            #expect(try await events.next()?.status == "consumed")
            #expect(try await events.next() == nil)
        }
    }

    @Test(
        "events after the one that closed the watch end when a poll of the payment records none",
        .timeLimit(.minutes(5))
    )
    func followReopened() async throws {
        try await LiveAPI.run { api in
            let client = try api.client()
            try await api.enqueue("src_1")
            try await api.expire("src_1")
            #expect(try await client.poll("src_1").isOpen)
            let following = Task {
                var events = client.events(for: "src_1", after: 1).makeAsyncIterator()
                return try await events.next()?.seq
            }
            // It reads the watch while that is open, and then waits.
            try await eventually("waiting") { api.feed.listened > 0 }
            try await api.expire("src_1")
            #expect(try await following.value == nil)
        }
    }

    @Test("after a gap in the log, a follower reads the history and repeats no event")
    func followOverGap() async throws {
        try await LiveAPI.run(partitions: 1) { api in
            try await api.enqueue("src_1")
            try await api.see("src_1", "pending")
            var iterator = try api.client().follow(["src_1"]).makeAsyncIterator()
            var seqs: [Int] = []
            func take() async throws {
                guard case .event(let event) = try await iterator.next() else { return }
                seqs.append(event.seq)
            }
            try await take()
            try await api.see("src_1", "chargeable")
            let entries = try await api.outbox.unacknowledged(0, idle: .zero)
            try await api.outbox.acknowledge(partition: 0, entries.map(\.id))
            try await api.outbox.trim(partition: 0, retention: .seconds(-60))
            try await api.see("src_1", "consumed", final: true)
            for _ in 0..<2 { try await take() }
            try await api.enqueue("src_1")
            try await api.see("src_1", "pending")
            try await take()
            #expect(seqs == [1, 2, 3, 4])
        }
    }

    @Test("a follower survives store failures without losing events")
    func followThroughFailure() async throws {
        try await LiveAPI.run { api in
            let client = try api.client()
            for number in 0..<4 { try await api.enqueue("src_\(number)") }
            var iterator = client.follow(from: .oldest).makeAsyncIterator()
            try await api.see("src_0", "pending")
            _ = try await iterator.next()
            api.plan.fail(.read, [.refused, .refused, .answerLost])
            for number in 1..<4 { try await api.see("src_\(number)", "pending") }
            var sources: Set<String> = []
            for _ in 1..<4 {
                if case .event(let event) = try await iterator.next() {
                    sources.insert(event.source)
                }
            }
            #expect(sources == ["src_1", "src_2", "src_3"])
            #expect(api.plan.failures == 3)
        }
    }

    @Test("`wait` returns when the status is reached, was reached, cannot be reached, or times out")
    func waiting() async throws {
        try await LiveAPI.run { api in
            let client = try api.client()
            try await api.enqueue("src_1")
            async let chargeable = client.wait(
                for: "src_1",
                until: .status("chargeable"),
                timeout: .seconds(60)
            )
            try await api.see("src_1", "chargeable")
            guard case .reached = try await chargeable else {
                throw UnexpectedAnswer(text: "not reached")
            }
            let late = try await client.wait(
                for: "src_1",
                until: .final,
                timeout: .milliseconds(50)
            )
            guard case .timedOut = late else { throw UnexpectedAnswer(text: "\(late)") }
            try await api.see("src_1", "consumed", final: true)
            let before = try await client.wait(
                for: "src_1",
                until: .status("Chargeable"),
                timeout: .seconds(60)
            )
            guard case .reached = before else { throw UnexpectedAnswer(text: "\(before)") }
            let never = try await client.wait(
                for: "src_1",
                until: .status("failed"),
                timeout: .seconds(60)
            )
            guard case .closed = never else { throw UnexpectedAnswer(text: "\(never)") }
        }
    }

    @Test("page items are extracted byte for byte")
    func slices() {
        let text = #"{"x":["no"],"data":[ {"a":[1,2],"data":["n"]} ,{"b":"],}\""}], "next":null}"#
        func items(_ text: String) -> [String] {
            let page = RawJSON(received: Array(text.utf8))
            return page?.member("data")?.elements?.map(\.description) ?? []
        }
        #expect(items(text) == [#"{"a":[1,2],"data":["n"]}"#, #"{"b":"],}\""}"#])
        #expect(items(#"{"data":[]}"#).isEmpty)
        #expect(items(#"{"data":7}"#).isEmpty)
    }

    @Test("an upstream object at the depth limit is parsed inside a response")
    func deepObject() {
        let depth = JSONScanner.depthMax - 1
        let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let text = #"{"data":[{"object":{"a":\#(deep)}}],"next":null}"#
        #expect(RawJSON(received: Array(text.utf8)) != nil)
    }

    @Test("responses of older and newer servers are decoded and kept unchanged")
    func versions() throws {
        let text = """
            {"new":{"until":1}, "id":"0:1","source":"src_1","kind":"iban","account":"default",\
            "state":"open","status":null,"final":false,"seq":0,"run":1,"attempts":0,\
            "created_at":"2026-11-20T09:30:00.125Z","deadline_at":"2026-11-20T09:31:30.125Z",\
            "next_poll_at":null,"last_polled_at":null,"policy":"standard","notify":[],"metadata":{}}
            """
        let watch = try #require(
            RawJSON(received: Array(text.utf8)).flatMap(Received<PollerWire.Watch>.init(_:))
        )
        #expect(watch.json == text)
        #expect(watch.kind == "iban" && watch.value.kind.known == nil)
        #expect(watch.until == "settled" && watch.nextPollAt == nil)
        #expect(watch.createdAt.timeIntervalSince1970 == 1_795_167_000.125)
        let counts =
            #"{"pending":1,"overdue":0,"leased":0,"closed":0,"outbox":0,"undelivered":0,"lanes":1}"#
        let early = #"{"watches":\#(counts),"deliveries":\#(counts)}"#
        let stats = try #require(
            RawJSON(received: Array(early.utf8)).flatMap(Received<PollerWire.Stats>.init(_:))
        )
        #expect(stats.watches.pending == 1 && stats.lanes == nil)
        #expect(RawJSON(received: Array("{} {}".utf8)) == nil)
        #expect(Received<PollerWire.Watch>(RawJSON(unchecked: "{}")) == nil)
    }

    @Test("unknown members of an object that requests also contain are ignored")
    func grownFallback() throws {
        let text = """
            {"id":"ep_1","account":"default","name":null,"url":"https://a.example","state":"enabled",\
            "types":[],"sources":[],"final_only":false,"timeout":null,"limit":null,"payload":"full",\
            "notify_by":{"within":"5m","endpoint":"ep_2","new":true},"secrets":[],\
            "created_at":"2026-11-20T09:30:00.125Z","updated_at":"2026-11-20T09:30:00.125Z"}
            """
        let endpoint = try #require(
            RawJSON(received: Array(text.utf8)).flatMap(Received<PollerWire.Endpoint>.init(_:))
        )
        #expect(endpoint.value.notifyBy?.endpoint == "ep_2")
        #expect(endpoint.json == text)
    }
}
