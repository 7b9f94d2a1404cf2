import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerTesting
import Testing

@testable import PollerGateway

@Suite(
    "The live gateway, used by an independent client",
    .enabled(
        if: PythonPeer.has("websockets"),
        "needs the PyPI package websockets (see Tests/Peers/requirements.txt)"
    )
)
struct GatewayTests {
    @Test("a subscriber receives the events that match its subscription, in order")
    func subscribes() async throws {
        try await LiveBench.run { bench in
            let client = try await bench.client()
            #expect(client.lines.first?["opened"]?.string == "poller.v1.json")
            let hello = try await client.message("hello")
            #expect(hello["limits"]?["subscriptions"]?.int == 100)
            try client.send(
                #"{"op":"subscribe","ref":7,"sources":["src_1"],"types":["source.*"]}"#
            )
            let subscribed = try await client.message("subscribed")
            #expect(subscribed["ref"]?.int == 7)
            #expect(subscribed["recovered"]?.bool == true)
            try await client.message("caught_up")
            try await bench.record("src_1", "pending")
            try await bench.record("src_2", "pending")
            try await bench.record("src_1", "chargeable", object: #"{"a":",\"observed\":"}"#)
            try await bench.record("src_1", "consumed", final: true)
            let settled = try await client.message("settled")
            #expect(settled["source"]?.string == "src_1")
            #expect(client.events == ["src_1:pending", "src_1:chargeable", "src_1:consumed"])
            let seqs = client.received.compactMap { $0["event"]?["seq"]?.int }
            #expect(seqs == [1, 2, 3])
            try client.send(#"{"op":"ping"}"#)
            try await client.message("pong")
            try client.send(#"{"op":"unsubscribe","sub":"s1"}"#)
            try await client.message("unsubscribed")
            try client.send(#"{"op":"unsubscribe","sub":"s1"}"#)
            let error = try await client.message("error")
            #expect(error["code"]?.string == "unknown_subscription")
            try client.send("!close")
            #expect(try await client.closeCode() == 1000)
        }
    }

    @Test("a client that reconnects with its cursor receives each missed event once, then new ones")
    func resumes() async throws {
        try await LiveBench.run { bench in
            let first = try await bench.client()
            try first.send(#"{"op":"subscribe","ref":1,"from":"now"}"#)
            try await first.message("caught_up")
            try await bench.record("src_1", "pending")
            // One after the other, because the order between partitions is not guaranteed.
            let seen = try await first.message("event")
            try await bench.record("pi_1", "requires_action")
            try await first.message("event") { $0["event"]?["source"]?.string == "pi_1" }
            let cursor = try #require(first.received.last?["cursor"]?.string)
            try first.send("!close")
            _ = try await first.closeCode()
            for number in 2...200 { try await bench.record("src_\(number)", "pending") }
            try await bench.record("src_1", "chargeable")

            let second = try await bench.client()
            try second.send(#"{"op":"subscribe","ref":1,"from":"\#(cursor)"}"#)
            // Events recorded during the catch-up must follow it.
            for number in 201...220 { try await bench.record("src_\(number)", "pending") }
            let subscribed = try await second.message("subscribed")
            #expect(subscribed["recovered"]?.bool == true)
            try await second.message("caught_up")
            try await second.message("event") { $0["event"]?["source"]?.string == "src_220" }
            let wanted =
                (2...200).map { "src_\($0):pending" } + ["src_1:chargeable"]
                + (201...220).map { "src_\($0):pending" }
            #expect(second.events == wanted)

            // From the first event's cursor, the second event is sent again.
            let third = try await bench.client()
            let early = try #require(seen["cursor"]?.string)
            try third.send(
                #"{"op":"subscribe","ref":1,"sources":["pi_1"],"from":"\#(early)"}"#
            )
            try await third.message("event")
            #expect(third.events == ["pi_1:requires_action"])
        }
    }

    @Test("an invalid cursor is answered with a reason and a snapshot")
    func badCursors() async throws {
        try await LiveBench.run { bench in
            try await bench.record("src_1", "pending", object: #"{"id":"src_1","x":[1,2]}"#)
            let cursor = GatewayCursor(
                roots: RootRing(fixed: LiveBench.cursorSecret),
                span: .seconds(60)
            )
            let positions = [OutboxPosition](repeating: .start, count: 4)
            let foreign = cursor.encode(
                LiveCursor(positions: positions),
                for: Principal(name: "x", accounts: .some([AccountID(unchecked: "acct_other")]))
            )
            let all = Principal(name: "x", accounts: .all)
            let ahead = cursor.encode(
                LiveCursor(
                    positions: positions.map { _ in OutboxPosition(ms: 9_000_000_000_000, n: 0) }
                ),
                for: all
            )
            let client = try await bench.client()
            for (ref, text) in ["garbage", "", foreign, ahead].enumerated() {
                try client.send(
                    #"{"op":"subscribe","ref":\#(ref),"sources":["src_1"],"from":"\#(text)"}"#
                )
                let answer = try await client.message("subscribed") { $0["ref"]?.int == ref }
                #expect(answer["recovered"]?.bool == false)
                #expect(answer["reason"]?.string?.isEmpty == false)
                let sub = answer["sub"]?.string
                let snapshot = try await client.message("snapshot") { $0["sub"]?.string == sub }
                #expect(snapshot["status"]?.string == "pending")
                #expect(snapshot["seq"]?.int == 1)
                #expect(snapshot["object"]?["x"]?.array?.count == 2)
            }
        }
    }

    @Test("a snapshot is followed only by later events")
    func snapshots() async throws {
        try await LiveBench.run { bench in
            try await bench.record("src_1", "pending")
            let client = try await bench.client()
            try client.send(
                #"{"op":"subscribe","ref":1,"sources":["src_1","src_9"],"from":"snapshot"}"#
            )
            try await client.message("caught_up")
            try await bench.record("src_1", "chargeable")
            try await client.message("event")
            #expect(client.events == ["src_1:chargeable"])
            #expect(client.received.count { $0["op"]?.string == "snapshot" } == 1)
        }
    }

    @Test("a key receives only events of its own account")
    func accounts() async throws {
        try await LiveBench.run { bench in
            let client = try await bench.client(["--token", "key-other"])
            try client.send(#"{"op":"subscribe","ref":1}"#)
            try await client.message("caught_up")
            try await bench.record("src_1", "pending")
            try await bench.record("src_2", "pending", account: AccountID(unchecked: "acct_other"))
            try await client.message("event")
            #expect(client.events == ["src_2:pending"])
        }
    }

    @Test("the key is accepted in the first frame, and a connection without a key is closed")
    func authentication() async throws {
        try await LiveBench.run(limits: GatewayLimits(authTimeout: .milliseconds(300))) { bench in
            let late = try await bench.client([])
            #expect(try await late.closeCode() == 4001)
        }
        // With the standard timeout, because a busy machine may need time to look up a key.
        try await LiveBench.run { bench in
            let framed = try await bench.client([])
            try framed.send(#"{"op":"auth","token":"key-all"}"#)
            try await framed.message("hello")
            let wrong = try await bench.client(["--token", "nonsense"])
            #expect(try await wrong.closeCode() == 4003)
            #expect(wrong.received.last?["op"]?.string == "bye")
            let hasty = try await bench.client([])
            try hasty.send(#"{"op":"subscribe","ref":1}"#)
            #expect(try await hasty.closeCode() == 4003)
        }
    }

    @Test("without keys, a local client may connect, and a page of another origin may not")
    func openOnLoopback() async throws {
        try await LiveBench.run(authenticator: OpenAuthenticator()) { bench in
            let client = try await bench.client([])
            try await client.message("hello")
            let page = try await bench.client(["--origin", "https://evil.example"])
            #expect(page.lines.first?["refused"]?.int == 403)
            let odd = try await bench.client(["--protocol", "other.v1"])
            #expect(odd.lines.first?["refused"]?.int == 400)
        }
    }

    @Test("a protocol violation closes the connection with its own close code")
    func violations() async throws {
        // A client on a busy machine may need more than the usual time to read its close frame.
        let limits = GatewayLimits(subscriptionsMax: 2, closeTimeout: .seconds(60))
        try await LiveBench.run(limits: limits) { bench in
            let bad = try await bench.client()
            try bad.send("not json")
            #expect(try await bad.closeCode() == 4000)
            let binary = try await bench.client()
            try binary.send("!binary")
            #expect(try await binary.closeCode() == 4000)
            let large = try await bench.client()
            try large.send(#"{"op":"ping","pad":"\#(String(repeating: "x", count: 17_000))"}"#)
            #expect(try await large.closeCode() == 1009)
            let many = try await bench.client()
            for ref in 1...3 { try many.send(#"{"op":"subscribe","ref":\#(ref)}"#) }
            #expect(try await many.closeCode() == 4009)
            let fast = try await bench.client()
            // So many that some second has too many of them, also on a busy machine. Most arrive after the close frame.
            let pings = Array(repeating: #"{"op":"ping"}"#, count: 5000)
            try fast.send(pings.joined(separator: "\n"))
            #expect(try await fast.closeCode() == 4129)
        }
    }

    @Test(
        "a client that stops reading is closed with 4108 and resumes from its cursor without loss"
    )
    func slowConsumer() async throws {
        // The close frame waits until the client reads again, however busy this machine is.
        let limits = GatewayLimits(stallTimeout: .seconds(6), pongTimeout: .seconds(90))
        try await LiveBench.run(limits: limits) { bench in
            let client = try await bench.client(["--token", "key-all", "--deaf"])
            let healthy = try await bench.client()
            try client.send(#"{"op":"subscribe","ref":1}"#)
            try healthy.send(#"{"op":"subscribe","ref":1}"#)
            try await healthy.message("caught_up")
            let object = #"{"pad":"\#(String(repeating: "x", count: 50_000))"}"#
            for number in 1...260 {
                try await bench.record("src_\(number)", "pending", object: object)
            }
            try await eventually("the gateway closes the client") {
                bench.log.has("closed by us", "4108")
            }
            try client.send("!listen")
            #expect(try await client.closeCode() == 4108)
            let bye = try await client.message("bye")
            #expect(bye["cursor"] == nil)
            #expect(bye["retry_ms"]?.array?.count == 2)
            let cursor = try #require(
                client.received.last { $0["cursor"] != nil }?["cursor"]?.string
            )
            let again = try await bench.client()
            try again.send(#"{"op":"subscribe","ref":1,"from":"\#(cursor)"}"#)
            try await again.message("caught_up", within: .seconds(60))
            let delivered = client.events + again.events
            #expect(delivered == (261 - delivered.count...260).map { "src_\($0):pending" })
            #expect(!again.events.isEmpty)
            // A burst of 13 MB must not close a client that reads.
            try await healthy.message("event", within: .seconds(60)) {
                $0["event"]?["source"]?.string == "src_260"
            }
            #expect(healthy.events.count == 260)
        }
    }

    @Test("a drain closes every client with a cursor and a retry delay")
    func drains() async throws {
        let store = MemoryStore(time: ClockTime(ContinuousClock()))
        var cursor: String?
        try await LiveBench.run(drainTimeout: .seconds(8), store: store) { bench in
            let clients = try await [bench.client(), bench.client(), bench.client()]
            for client in clients {
                try client.send(#"{"op":"subscribe","ref":1}"#)
                try await client.message("caught_up")
            }
            try await bench.record("src_1", "pending")
            for client in clients { try await client.message("event") }
            await bench.drain()
            for client in clients {
                #expect(try await client.closeCode() == 4101)
                let bye = try await client.message("bye")
                #expect(bye["retry_ms"]?.array?.count == 2)
                cursor = bye["cursor"]?.string
            }
        }
        try await LiveBench.record("src_1", "chargeable", store)
        try await LiveBench.run(store: store) { bench in
            let client = try await bench.client()
            let from = try #require(cursor)
            try client.send(#"{"op":"subscribe","ref":1,"from":"\#(from)"}"#)
            try await client.message("event")
            #expect(client.events == ["src_1:chargeable"])
        }
    }
}
