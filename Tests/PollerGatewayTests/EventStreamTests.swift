import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerTesting
import PollerWatches
import Testing

@testable import PollerGateway

@Suite(
    "Event streams, read by an independent client",
    .enabled(if: PythonPeer.has("http.client"), "needs python3")
)
struct EventStreamTests {
    @Test("a stream of all sources has the required headers and delivers events unchanged")
    func tells() async throws {
        try await LiveBench.run { bench in
            let client = try await bench.stream(
                "/v1/events/stream?types=source.*&source=src_1,src_2"
            )
            #expect(client.status == 200)
            #expect(client.header("content-type") == "text/event-stream")
            #expect(client.header("cache-control") == "no-store")
            #expect(client.header("x-accel-buffering") == "no")
            try await client.streamed("ready")
            let retry = try await client.line("a retry") { $0["retry"] != nil }
            #expect((1000...8000).contains(retry["retry"]?.int ?? 0))
            try await bench.record("src_1", "pending", object: #"{"id":"src_1","a":"x\ny"}"#)
            try await bench.record("src_3", "pending")
            try await bench.record("src_2", "pending")
            try await client.streamed("message") { $0["data"]?["source"]?.string == "src_2" }
            #expect(client.delivered == ["src_1:pending", "src_2:pending"])
            let first = try #require(client.messages.first { $0["event"]?.string == "message" })
            #expect(first["data"]?["object"]?["a"]?.string == "x\ny")
            #expect(client.messages.allSatisfy { ($0["id"]?.string?.count ?? 0) > 20 })
        }
    }

    @Test("a source's stream starts with a snapshot, ends with `done`, and then returns 204")
    func done() async throws {
        try await LiveBench.run { bench in
            try await bench.record("src_1", "pending")
            let client = try await bench.stream("/v1/sources/src_1/events")
            let snapshot = try await client.streamed("snapshot")
            #expect(snapshot["data"]?["status"]?.string == "pending")
            try await client.streamed("ready")
            try await bench.record("src_1", "chargeable")
            try await bench.record("src_1", "consumed", final: true)
            let done = try await client.streamed("done")
            try await client.ended()
            #expect(client.delivered == ["src_1:chargeable", "src_1:consumed"])
            let last = try #require(done["id"]?.string)
            let path = "/v1/sources/src_1/events"
            let again = try await bench.stream(path, ["--token", "key-all", "--last-id", last])
            #expect(again.status == 204)
            // A late client gets the state and the end.
            let late = try await bench.stream(path)
            try await late.streamed("done")
            try await late.ended()
            #expect(late.messages.first?["data"]?["status"]?.string == "consumed")
            // A new run is a change, so the rejected client may reconnect.
            try await bench.record("src_1", "pending")
            let third = try await bench.stream(path, ["--token", "key-all", "--last-id", last])
            try await third.streamed("message")
            #expect(third.delivered == ["src_1:pending"])
        }
    }

    @Test("the stream of a source whose ID implies no kind also returns 204 after `done`")
    func doneWithKinds() async throws {
        try await LiveBench.run { bench in
            let path = "/v1/sources/pay-1/events"
            try await LiveBench.record("pay-1", "open", kind: .http, bench.store)
            let client = try await bench.stream(path)
            try await client.streamed("ready")
            try await LiveBench.record("pay-1", "paid", final: true, kind: .http, bench.store)
            let done = try await client.streamed("done")
            try await client.ended()
            let last = try #require(done["id"]?.string)
            let returning = ["--token", "key-all", "--last-id", last]
            #expect(try await bench.stream(path, returning).status == 204)
            // Events of other sources do not count.
            for number in 0...CatchUp.batch {
                let other = "pay-2\(number)"
                try await LiveBench.record(other, "open", kind: .http, bench.store)
            }
            #expect(try await bench.stream(path, returning).status == 204)
            // A new stream gets the end, even from a position after it.
            let fresh = try await bench.stream(path + "?since=\(last)")
            try await fresh.streamed("done")
            // A client that has missed an event gets it, whatever kind it is of.
            try await LiveBench.record("pay-1", "failed", final: true, kind: .source, bench.store)
            let late = try await bench.stream(path, returning)
            let lateDone = try await late.streamed("done")
            #expect(late.delivered == ["pay-1:failed"])
            let newest = try #require(lateDone["id"]?.string)
            // An open watch of any kind keeps the stream open.
            try await LiveBench.record("pay-1", "pending", kind: .source, bench.store)
            let third = try await bench.stream(path, ["--token", "key-all", "--last-id", newest])
            #expect(third.status == 200)
        }
    }

    @Test("a stream resumes after Last-Event-ID, `since` or a seq without loss or duplicates")
    func resumes() async throws {
        try await LiveBench.run { bench in
            for status in ["a", "b", "c"] { try await bench.record("src_1", status) }
            let path = "/v1/sources/src_1/events"
            let first = try await bench.stream(path + "?after_seq=1")
            try await first.streamed("ready")
            #expect(first.delivered == ["src_1:b", "src_1:c"])
            let cursor = try #require(
                first.messages.first { $0["data"]?["status"]?.string == "b" }?["id"]?.string
            )
            // The browser repeats the query, but its own position is newer.
            let resumed = try await bench.stream(
                path + "?after_seq=1",
                ["--token", "key-all", "--last-id", cursor]
            )
            try await bench.record("src_1", "d")
            try await resumed.streamed("message") { $0["data"]?["status"]?.string == "d" }
            #expect(resumed.delivered == ["src_1:c", "src_1:d"])
            let all = try await bench.stream("/v1/events/stream?since=now")
            try await all.streamed("ready")
            try await bench.record("src_2", "pending")
            let delivered = try await all.streamed("message")
            try await bench.record("src_3", "pending")
            let place = try #require(delivered["id"]?.string)
            let since = try await bench.stream("/v1/events/stream?since=\(place)")
            try await since.streamed("message")
            #expect(since.delivered == ["src_3:pending"])
        }
    }

    /// Regression 8 (mercure#704): an unknown Last-Event-ID led to silence.
    @Test(
        "regression 8: an unknown Last-Event-ID is answered with `reset` and a snapshot at once",
        arguments: ["garbage", "AAAA", "12345-0"]
    )
    func reset(id: String) async throws {
        try await LiveBench.run { bench in
            try await bench.record("src_1", "pending")
            let client = try await bench.stream(
                "/v1/sources/src_1/events",
                ["--token", "key-all", "--last-id", id]
            )
            let reset = try await client.streamed("reset")
            #expect(reset["data"]?["reason"]?.string?.isEmpty == false)
            let snapshot = try await client.streamed("snapshot")
            #expect(snapshot["data"]?["status"]?.string == "pending")
            // A loss of events at the server must not lead to silence either.
            let watch = WatchKey(
                account: .main,
                source: SourceID(unchecked: "src_1"),
                kind: .source
            )
            let ahead = GatewayCursor(
                roots: RootRing(fixed: LiveBench.cursorSecret),
                span: .seconds(60)
            ).encode(
                LiveCursor(
                    positions: [OutboxPosition](repeating: .start, count: 4),
                    mark: LiveCursor.Mark(watch: watch.id, seq: 9)
                ),
                for: Principal(name: "all", accounts: .all)
            )
            let lost = try await bench.stream(
                "/v1/sources/src_1/events",
                ["--token", "key-all", "--last-id", ahead]
            )
            try await lost.streamed("reset")
            try await lost.streamed("snapshot")
        }
    }

    @Test("tokens and client secrets open only their own sources, however they are sent")
    func credentials() async throws {
        try await LiveBench.run { bench in
            try await bench.enqueue("src_1", secret: "src_client_secret_x")
            try await bench.record("src_1", "pending", object: #"{"id":"src_1","owner":{"a":1}}"#)
            try await bench.record("src_2", "pending")
            let grant = try StreamGrant(sources: ["src_1"])
            let token = try await bench.tokens.issue(grant, lifetime: .seconds(600)).reveal
            let path = "/v1/sources/src_1/events"
            let good = try await [
                bench.stream(path, ["--token", token]), bench.stream("\(path)?token=\(token)", []),
                bench.stream(path, ["--token", "src_client_secret_x"]),
            ]
            for client in good {
                let snapshot = try await client.streamed("snapshot")
                #expect(snapshot["data"]?["object"]?["id"]?.string == "src_1")
                #expect(snapshot["data"]?["object"]?["owner"] == nil)
                #expect(snapshot["data"]?["account"] == nil)
            }
            // Without a named source, the stream covers the token's sources.
            let fresh = try await bench.tokens.issue(grant, lifetime: .seconds(600)).reveal
            let all = try await bench.stream("/v1/events/stream?token=\(fresh)", [])
            try await all.streamed("ready")
            try await bench.record("src_2", "chargeable")
            try await bench.record("src_1", "chargeable")
            try await all.streamed("message")
            #expect(all.delivered == ["src_1:chargeable"])
            #expect(all.messages.last?["data"]?["account"] == nil)
            let other = try await bench.tokens.issue(grant, lifetime: .seconds(600)).reveal
            let refused: [(String, [String], Int)] = [
                (path, [], 401), (path, ["--token", "nonsense"], 401),
                (path, ["--token", "src_client_secret_y"], 401),
                ("/v1/sources/src_2/events", ["--token", "src_client_secret_x"], 401),
                ("/v1/sources/src_2/events", ["--token", other], 400),
                // A token that was used in a URL is not valid anywhere else.
                ("\(path)?token=\(token)", [], 401), (path, ["--token", token], 401),
                ("\(path)?token=key-all", [], 401),
                ("\(path)?token=src_client_secret_x", [], 401),
                ("\(path)?color=blue", ["--token", "key-all"], 400),
                ("\(path)?since=now&after_seq=1", ["--token", "key-all"], 400),
                ("\(path)?after_seq=-1", ["--token", "key-all"], 400),
                ("/v1/events/stream?since=snapshot", ["--token", "key-all"], 400),
                ("/v1/sources//events", ["--token", "key-all"], 404),
                ("/v1/sources/a%20b/events", ["--token", "key-all"], 400),
                (path, ["--token", "key-all", "--method", "POST"], 405),
                (path, ["--token", "key-all", "--header", "Origin:https://evil.example"], 403),
            ]
            for (path, arguments, status) in refused {
                let answer = try await bench.stream(path, arguments)
                #expect(answer.status == status, "\(path) \(arguments)")
                #expect(answer.header("content-type") == "application/problem+json")
                let problem = answer.lines.first?["body"]?.string.flatMap(JSONLine.init)
                #expect(problem?["code"]?.string?.isEmpty == false)
            }
            #expect(!bench.log.has(token) && !bench.log.has("src_client_secret_x"))
        }
    }

    @Test("sources without an account are those of the default account, which must be clear")
    func defaultAccount() async throws {
        try await LiveBench.run { bench in
            try await bench.record("src_1", "pending")
            let two = ["--token", "key-two"]
            for names in ["source=src_1", "source=src_1,src_2"] {
                let path = "/v1/events/stream?\(names)"
                for since in ["snapshot", "nonsense", "now"] {
                    let answer = try await bench.stream("\(path)&since=\(since)", two)
                    #expect(answer.status == 400, "\(names) \(since)")
                    let body = answer.lines.first?["body"]?.string
                    #expect(body?.contains("account: is required") == true)
                }
                let foreign = try await bench.stream("\(path)&account=default", two)
                #expect(foreign.status == 400)
                let own = try await bench.stream("\(path)&account=acct_a&since=snapshot", two)
                try await own.streamed("ready")
                #expect(!own.messages.contains { $0["event"]?.string == "snapshot" })
            }
            // A key of all accounts gets the default account, as over a WebSocket.
            let all = try await bench.stream("/v1/events/stream?source=src_1")
            try await all.streamed("ready")
            let other = AccountID(unchecked: "acct_other")
            try await bench.record("src_1", "failed", account: other)
            try await bench.record("src_1", "chargeable")
            try await all.streamed("message") { $0["data"]?["status"]?.string == "chargeable" }
            #expect(all.messages.allSatisfy { $0["data"]?["account"]?.string != "acct_other" })
        }
    }

    @Test("pages of allowed origins may connect and send an Authorization header")
    func origins() async throws {
        try await LiveBench.run(allowedOrigins: ["https://shop.example"]) { bench in
            let origin = ["--header", "Origin:https://shop.example"]
            let asked = try await bench.stream(
                "/v1/events/stream",
                origin + ["--method", "OPTIONS"]
            )
            #expect(asked.status == 204)
            #expect(asked.header("access-control-allow-origin") == "https://shop.example")
            #expect(asked.header("access-control-allow-headers")?.contains("authorization") == true)
            let head = try await bench.stream(
                "/v1/events/stream",
                origin + ["--method", "HEAD", "--token", "key-all"]
            )
            #expect(head.status == 200)
            #expect(head.header("access-control-allow-origin") == "https://shop.example")
            #expect(head.header("vary") == "origin")
            let other = try await bench.stream(
                "/v1/events/stream",
                ["--method", "OPTIONS", "--header", "Origin:https://evil.example"]
            )
            #expect(other.status == 403)
            #expect(other.header("access-control-allow-origin") == nil)
        }
    }

    @Test("without keys, a foreign Host header or a proxy header is rejected")
    func rebinding() async throws {
        try await LiveBench.run(authenticator: OpenAuthenticator()) { bench in
            try await bench.enqueue("src_1", secret: "src_client_secret_x")
            let local: [[String]] = [[], ["--token", "nonsense"]]
            for credentials in local {
                let answer = try await bench.stream("/v1/events/stream", credentials)
                #expect(answer.status == 200)
            }
            let path = "/v1/sources/src_1/events"
            for header in ["Host:evil.example:\(bench.port)", "X-Forwarded-For:127.0.0.1"] {
                let page = try await bench.stream("/v1/events/stream", ["--header", header])
                #expect(page.status == 403)
                // Presenting invalid credentials must not grant more than presenting none.
                let shown = ["--header", header, "--token", "nonsense"]
                #expect(try await bench.stream("/v1/events/stream", shown).status == 401)
                #expect(try await bench.stream(path, shown).status == 401)
                // Valid credentials do not depend on trust in this machine.
                let known = ["--header", header, "--token", "src_client_secret_x"]
                #expect(try await bench.stream(path, known).status == 200)
            }
        }
    }
}
