import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerTesting
import Testing

@testable import PollerGateway

@Suite(
    "WebSocket access and its end",
    .enabled(
        if: PythonPeer.has("websockets"),
        "needs the PyPI package websockets (see Tests/Peers/requirements.txt)"
    )
)
struct GatewayAccessTests {
    @Test("a source's client secret opens that source in the restricted view")
    func clientSecret() async throws {
        try await LiveBench.run { bench in
            try await bench.enqueue("src_1", secret: "src_client_secret_x")
            try await bench.record("src_2", "pending")
            let client = try await bench.client([])
            try client.send(
                #"{"op":"auth","source":"src_1","client_secret":"src_client_secret_x"}"#
            )
            try await client.message("hello")
            try client.send(#"{"op":"subscribe","ref":1,"sources":["src_2"]}"#)
            try await client.message("error") { $0["code"]?.string == "bad_request" }
            try client.send(#"{"op":"subscribe","ref":2}"#)
            try await client.message("caught_up")
            try await bench.record("src_2", "chargeable")
            try await bench.record("src_1", "pending", object: #"{"id":"src_1","owner":{}}"#)
            let event = try await client.message("event")
            #expect(event["event"]?["account"] == nil)
            #expect(event["event"]?["object"]?["id"]?.string == "src_1")
            #expect(event["event"]?["object"]?["owner"] == nil)
            try await bench.record("src_1", "consumed", final: true)
            // No more events can follow with this secret. The connection ends, and the client need not reconnect.
            #expect(try await client.closeCode() == 4200)
            #expect(client.events == ["src_1:pending", "src_1:consumed"])
            let bye = try await client.message("bye")
            #expect(bye["retry_ms"] == nil)
            // A client that reconnects with that cursor learns it at once.
            let again = try await bench.client([])
            try again.send(
                #"{"op":"auth","source":"src_1","client_secret":"src_client_secret_x"}"#
            )
            let cursor = try #require(bye["cursor"]?.string)
            try again.send(#"{"op":"subscribe","ref":1,"from":"\#(cursor)"}"#)
            #expect(try await again.closeCode() == 4200)
            #expect(again.events.isEmpty)
        }
    }

    @Test("an invalid credential gets the same answer whether or not the source is watched")
    func refusals() async throws {
        try await LiveBench.run { bench in
            try await bench.enqueue("src_1", secret: "src_client_secret_x")
            try await bench.record("src_2", "pending")
            let tries: [(String, Int)] = [
                (#"{"op":"auth","source":"src_1","client_secret":"src_client_secret_y"}"#, 4003),
                (#"{"op":"auth","source":"src_1","client_secret":""}"#, 4003),
                (#"{"op":"auth","source":"src_2","client_secret":"x"}"#, 4003),
                (#"{"op":"auth","source":"src_9","client_secret":"x"}"#, 4003),
                (#"{"op":"auth","source":"src_1"}"#, 4000),
                (#"{"op":"auth","source":"a b","client_secret":"x"}"#, 4000),
                (#"{"op":"auth","token":"eyJhbGciOiJub25lIn0.e30."}"#, 4003),
            ]
            var delivered: Set<String> = []
            for (text, code) in tries {
                let client = try await bench.client([])
                try client.send(text)
                #expect(try await client.closeCode() == code, "\(text)")
                guard text.contains("client_secret"), code == 4003 else { continue }
                delivered.formUnion(client.lines.compactMap { $0["reason"]?.string })
                delivered.formUnion(client.received.compactMap { $0["reason"]?.string })
            }
            #expect(delivered.count == 1, "\(delivered)")
            #expect(!bench.log.has("src_client_secret"))
        }
    }

    @Test("without keys, a foreign Host header or a proxy header is rejected")
    func rebinding() async throws {
        try await LiveBench.run(authenticator: OpenAuthenticator()) { bench in
            try await bench.enqueue("src_1", secret: "s")
            let local = try await bench.client([])
            try await local.message("hello")
            for way in [["--host", "evil.example"], ["--header", "Via:1.1 proxy"]] {
                let page = try await bench.client(way)
                try page.send(#"{"op":"subscribe","ref":1}"#)
                #expect(try await page.closeCode() == 4003)
                let shown = try await bench.client(way + ["--token", "nonsense"])
                #expect(try await shown.closeCode() == 4003)
                // Valid credentials do not depend on trust in this machine.
                let known = try await bench.client(way)
                try known.send(#"{"op":"auth","source":"src_1","client_secret":"s"}"#)
                try await known.message("hello")
            }
        }
    }

    private struct RevocableKeys: Authenticator {
        let anonymous: Principal? = nil
        let revoked: AsyncStream<String>

        func principal(token: String) async -> Principal? {
            Principal(name: token, accounts: .all)
        }
    }

    @Test("a revoked key closes its connections, also one that is connecting, and no others")
    func revocation() async throws {
        let (revoked, revocations) = AsyncStream.makeStream(of: String.self)
        try await LiveBench.run(authenticator: RevocableKeys(revoked: revoked)) { bench in
            let gone = try await bench.client(["--token", "a"])
            let stays = try await bench.client(["--token", "b"])
            try await gone.message("hello")
            try await stays.message("hello")
            revocations.yield("a")
            #expect(try await gone.closeCode() == 4003)
            let late = try await bench.client(["--token", "a"])
            #expect(try await late.closeCode() == 4003)
            try stays.send(#"{"op":"subscribe","ref":1}"#)
            try await stays.message("caught_up")
        }
    }

    private struct SlowKeys: Authenticator {
        let anonymous: Principal? = nil

        func principal(token: String) async -> Principal? {
            // Ends early when the gateway stops.
            try? await Task.sleep(for: .seconds(60))
            return nil
        }
    }

    @Test("a client whose key cannot be checked in time is disconnected, and may reconnect")
    func slowCheck() async throws {
        let limits = GatewayLimits(authTimeout: .milliseconds(300))
        try await LiveBench.run(limits: limits, authenticator: SlowKeys()) { bench in
            let client = try await bench.client(["--token", "a"])
            #expect(try await client.closeCode() == 4100)
            let bye = try await client.message("bye")
            #expect(bye["retry_ms"]?.array?.count == 2)
        }
    }

    @Test("a token is accepted as a subprotocol, and its expiry closes the connection")
    func tokens() async throws {
        try await LiveBench.run { bench in
            let grant = try StreamGrant(types: ["source.*"], view: .full)
            let token = try await bench.tokens.issue(grant, lifetime: .seconds(15)).reveal
            let client = try await bench.client([
                "--protocol", "poller.v1.json,poller.token.\(token)",
            ])
            #expect(client.lines.first?["opened"]?.string == "poller.v1.json")
            try client.send(#"{"op":"subscribe","ref":1}"#)
            try await client.message("caught_up")
            try await bench.record("src_1", "pending")
            try await client.message("event")
            #expect(try await client.closeCode() == 4105)
            let bye = try await client.message("bye")
            #expect(bye["cursor"]?.string?.isEmpty == false)
            #expect(bye["retry_ms"]?.array?.count == 2)
            #expect(!bench.log.has(token))
        }
    }

    @Test("a client secret at its connection limit is rejected until one of its connections ends")
    func places() async throws {
        try await LiveBench.run(limits: GatewayLimits(connectionsPerSecretMax: 2)) { bench in
            try await bench.enqueue("src_1", secret: "s")
            let auth = #"{"op":"auth","source":"src_1","client_secret":"s"}"#
            let first = try await bench.client([])
            try first.send(auth)
            try await first.message("hello")
            let second = try await bench.client([])
            try second.send(auth)
            try await second.message("hello")
            let third = try await bench.client([])
            try third.send(auth)
            #expect(try await third.closeCode() == 4010)
            try first.send("!close")
            _ = try await first.closeCode()
            try await eventually("the slot is free") {
                let fourth = try await bench.client([])
                try fourth.send(auth)
                let line = try await fourth.line("in or not") {
                    $0["closed"] != nil || $0["received"]?["op"]?.string == "hello"
                }
                return line["received"] != nil
            }
        }
    }

    @Test("WebSocket and event streams accept the same cursors, and both accept a watch's seq")
    func oneCursor() async throws {
        try await LiveBench.run { bench in
            for number in 1...4 { try await bench.record("src_1", "s\(number)") }
            let socket = try await bench.client()
            try socket.send(
                #"{"op":"subscribe","ref":1,"sources":["src_1"],"after_seq":2}"#
            )
            try await socket.message("caught_up")
            #expect(socket.events == ["src_1:s3", "src_1:s4"])
            let middle = try #require(
                socket.received.first { $0["op"]?.string == "event" }?["cursor"]?.string
            )
            let stream = try await bench.stream("/v1/sources/src_1/events?since=\(middle)")
            try await stream.streamed("ready")
            #expect(stream.delivered == ["src_1:s4"])
            try await bench.record("src_1", "s5")
            let place = try await stream.streamed("message") {
                $0["data"]?["status"]?.string == "s5"
            }["id"]?.string
            try await bench.record("src_1", "s6")
            let cursor = try #require(place)
            // For one watch, and for all of them.
            for sources in [#","sources":["src_1"]"#, ""] {
                let again = try await bench.client()
                try again.send(#"{"op":"subscribe","ref":1,"from":"\#(cursor)"\#(sources)}"#)
                try await again.message("caught_up")
                #expect(again.events == ["src_1:s6"])
            }
            let page = GatewayCursor(
                roots: RootRing(fixed: LiveBench.cursorSecret),
                span: .seconds(60)
            )
            let entries = page.positions(of: cursor, partitions: 4, accounts: .all)
            #expect(entries?.count == 4)
            let text = page.text(after: entries ?? [], accounts: .all)
            let third = try await bench.stream("/v1/events/stream?since=\(text)")
            try await third.streamed("message")
            #expect(third.delivered == ["src_1:s6"])
        }
    }
}
