import PollerDeliveries
import PollerIdentity
import PollerNet
import PollerOperations
import PollerTesting
import Testing

@testable import PollerGateway

@Suite(
    "The end of event streams",
    .enabled(if: PythonPeer.has("http.client"), "needs python3")
)
struct EventStreamEndsTests {
    @Test("an idle stream gets heartbeats, and rotation or token expiry ends it with `bye`")
    func ends() async throws {
        let limits = GatewayLimits(
            heartbeatInterval: .milliseconds(100),
            rotationInterval: .seconds(5)
        )
        try await LiveBench.run(limits: limits) { bench in
            let client = try await bench.stream("/v1/events/stream")
            try await client.line("a heartbeat") { $0["comment"] != nil }
            let bye = try await client.streamed("bye")
            #expect(bye["data"]?["code"]?.int == 4102)
            try await client.ended()
        }
        try await LiveBench.run { bench in
            let token = try await bench.tokens.issue(StreamGrant(), lifetime: .seconds(15)).reveal
            let client = try await bench.stream("/v1/events/stream?token=\(token)", [])
            let bye = try await client.streamed("bye")
            #expect(bye["data"]?["code"]?.int == 4105)
            try await client.ended()
            let again = try await bench.stream("/v1/events/stream?token=\(token)", [])
            #expect(again.status == 401)
        }
    }

    /// Regression 20 (measured): Chromium never reconnects after 204, 429 or 503.
    @Test("regression 20: a source stream over the limit gets a 200 with `retry` and no events")
    func overload() async throws {
        let limits = GatewayLimits(connectionsPerSecretMax: 1)
        try await LiveBench.run(limits: limits) { bench in
            try await bench.enqueue("src_1", secret: "s")
            let (path, shown) = ("/v1/sources/src_1/events", ["--token", "s"])
            var first: PythonPeer? = try await bench.stream(path, shown)
            try await first?.streamed("ready")
            let second = try await bench.stream(path, shown)
            #expect(second.status == 200)
            let retry = try await second.line("a retry") { $0["retry"] != nil }
            #expect(retry["retry"]?.int == 15_000)
            try await second.ended()
            #expect(second.messages.isEmpty)
            first = nil
            try await eventually("the slot is free") {
                let third = try await bench.stream(path, shown)
                let line = try await third.line("served or not") {
                    $0["message"] != nil || $0["ended"] != nil
                }
                return line["message"] != nil
            }
        }
    }

    @Test("a key at its connection limit gets 429, and another key is served")
    func tooMany() async throws {
        let limits = GatewayLimits(addresses: .half, perKey: 1)
        try await LiveBench.run(limits: limits) { bench in
            let first = try await bench.stream("/v1/events/stream")
            try await first.streamed("ready")
            let second = try await bench.stream("/v1/events/stream")
            #expect(second.status == 429)
            #expect(second.header("retry-after") == "15")
            let socket = try await bench.client()
            #expect(try await socket.closeCode() == 4010)
            let other = try await bench.stream("/v1/events/stream", ["--token", "key-main"])
            try await other.streamed("ready")
        }
    }

    @Test("a drain ends streams with spread `retry` delays, and the next process resumes them")
    func drains() async throws {
        let store = MemoryStore(time: ClockTime(ContinuousClock()))
        var cursor: String?
        try await LiveBench.run(drainTimeout: .seconds(8), store: store) { bench in
            let client = try await bench.stream("/v1/events/stream")
            try await client.streamed("ready")
            try await bench.record("src_1", "pending")
            cursor = try await client.streamed("message")["id"]?.string
            await bench.drain()
            let bye = try await client.streamed("bye")
            #expect(bye["data"]?["code"]?.int == 4101)
            try await client.ended()
            let waits = client.lines.compactMap { $0["retry"]?.int }
            #expect(waits.count == 2)
            #expect((500...8000).contains(waits.last ?? 0))
        }
        try await LiveBench.record("src_1", "chargeable", store)
        try await LiveBench.run(store: store) { bench in
            let place = try #require(cursor)
            let client = try await bench.stream("/v1/events/stream?since=\(place)")
            try await client.streamed("message")
            #expect(client.delivered == ["src_1:chargeable"])
        }
    }

    @Test(
        "a client that stops reading is closed with 4108 and resumes from its last ID without loss"
    )
    func slowConsumer() async throws {
        // A client that reads may be late on a busy machine.
        let limits = GatewayLimits(stallTimeout: .seconds(5))
        try await LiveBench.run(limits: limits) { bench in
            let start = GatewayCursor(
                roots: RootRing(fixed: LiveBench.cursorSecret),
                span: .seconds(60)
            )
            .text(after: Array(repeating: .start, count: 4), accounts: .all)
            let client = try await bench.stream(
                "/v1/events/stream?since=\(start)",
                ["--token", "key-all", "--deaf"]
            )
            // More than the kernel buffers for a client with a small window.
            let object = #"{"pad":"\#(String(repeating: "x", count: 60_000))"}"#
            for number in 1...110 {
                try await bench.record("src_\(number)", "pending", object: object)
            }
            try await eventually("the gateway closes the client") {
                bench.log.has("event stream closed by us", "4108")
            }
            try client.send("!listen")
            try await client.ended()
            let last = client.messages.last?["id"]?.string ?? start
            let again = try await bench.stream("/v1/events/stream?since=\(last)")
            try await again.streamed("ready")
            let delivered = client.delivered + again.delivered
            #expect(delivered == (1...110).map { "src_\($0):pending" })
            #expect(!again.delivered.isEmpty)
        }
    }
}
