import Foundation
import NIOHTTP1
import Poller
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI
@testable import PollerOperations

@Suite("Watches over HTTP")
struct WatchRoutesTests {
    @Test("a new source gets 201 with the whole watch, and a repeat gets 200 and joins")
    func createAndJoin() async throws {
        try await LiveAPI.run { api in
            let body = """
                {"source":"src_1","policy":"interactive","timeout":"5m",
                 "notify":["https://shop.example/hook","https://shop.example/hook"],
                 "metadata":{"order":"4711 \\u00fc"}}
                """
            let created = try await api.post("/v1/watches", body)
            #expect(created.status == 201)
            #expect(created["outcome"] == "created")
            #expect(created["kind"] == "source")
            #expect(created["account"] == "default")
            #expect(created["state"] == "open")
            #expect(created["policy"] == "interactive")
            #expect(created.json["status"] is NSNull)
            #expect(created.json["final"] as? Bool == false)
            #expect(created.number("seq") == 0)
            #expect(created.number("run") == 1)
            #expect(created.json["notify"] as? [String] == ["https://shop.example/hook"])
            #expect(created.json["metadata"] as? [String: String] == ["order": "4711 ü"])
            #expect(created["created_at"]?.wholeMatch(of: /\d{4}-..-..T..:..:..\.\d{3}Z/) != nil)
            #expect(created.headers.first(name: "X-Request-Id")?.isEmpty == false)

            let joined = try await api.post("/v1/watches", #"{"source":"src_1"}"#)
            #expect(joined.status == 200)
            #expect(joined["outcome"] == "joined")
        }
    }

    @Test("enqueuing works without a store read, for new, joined and mismatched watches")
    func oneCall() async throws {
        try await LiveAPI.run { api in
            // The feed also reads.
            api.plan.fail(.read, Array(repeating: .refused, count: 100))
            for (order, status) in [("A1", 201), ("A1", 200), ("A2", 409)] {
                let body = #"{"source":"src_1","order":"\#(order)"}"#
                #expect(try await api.post("/v1/watches", body).status == status)
            }
            let batch = #"[{"source":"src_1","order":"A1"},{"source":"src_2","order":"A2"}]"#
            let answer = try await api.post("/v1/watches/batch", batch)
            #expect(answer.number("joined") == 1 && answer.number("created") == 1)
        }
    }

    @Test("enqueuing a closed source starts run 2 with 201")
    func restart() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.see("src_1", "consumed", final: true)
            let again = try await api.post("/v1/watches", #"{"source":"src_1"}"#)
            #expect(again.status == 201)
            #expect(again["outcome"] == "restarted")
            #expect(again.number("run") == 2)
        }
    }

    @Test("a watch has the last object byte for byte, and shows whether it is final")
    func readsObject() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.see("src_1", "chargeable")
            let open = try await api.get("/v1/watches/src_1")
            #expect(open.status == 200)
            #expect(open["status"] == "chargeable")
            #expect(
                open.text.contains(
                    #""object":{"id":"src_1","amount":1.50,"nested":{"object":"}"}}"#
                )
            )
            try await api.see("src_1", "consumed", final: true)
            let closed = try await api.get("/v1/watches/src_1")
            #expect(closed["state"] == "closed")
            #expect(closed["closed_reason"] == "settled")
            #expect(closed.json["final"] as? Bool == true)
            #expect(closed.number("seq") == 2)
        }
    }

    @Test("a Source's watch names the replacement of its type, and others have no deprecation")
    func deprecation() async throws {
        try await LiveAPI.run { api in
            let created = try await api.post("/v1/watches", #"{"source":"src_1"}"#)
            let early = created.json["deprecation"] as? [String: String]
            #expect(early?["replacement"] == "payment_intent")
            #expect(early?["urgency"] == nil)
            #expect(early?["url"]?.hasPrefix("https://docs.stripe.com/") == true)
            try await api.see("src_1", "chargeable", payment: .processing)
            let seen = try await api.get("/v1/watches/src_1").json["deprecation"]
            let known = seen as? [String: String]
            #expect(known?["replacement"] == "ideal")
            #expect(known?["urgency"] == "turned_off")
            #expect(known?["advice"]?.contains("return_url") == true)

            let intent = try await api.post("/v1/watches", #"{"source":"pi_1"}"#)
            #expect(intent.json["deprecation"] == nil)
            let batch = try await api.post(
                "/v1/watches/batch",
                #"[{"source":"pi_2"},{"source":"src_2"}]"#
            )
            let notice = batch.json["deprecation"] as? [String: String]
            #expect(notice?["replacement"] == "payment_intent")
            let intents = try await api.post("/v1/watches/batch", #"[{"source":"pi_3"}]"#)
            #expect(intents.json["deprecation"] == nil)
        }
    }

    @Test("the client secret is never returned")
    func secretStaysInside() async throws {
        try await LiveAPI.run { api in
            let body = #"{"source":"src_1","client_secret":"src_client_secret_canary"}"#
            let created = try await api.post("/v1/watches", body)
            #expect(created.status == 201)
            #expect(!created.text.contains("canary"))
            #expect(try await !api.get("/v1/watches").text.contains("canary"))
        }
    }

    @Test("a secret used as an ID is rejected wherever an ID is accepted, and not returned")
    func secretAsID() async throws {
        try await LiveAPI.run { api in
            for secret in [
                "pi_3Qa_secret_canary", "sk_test_canary", "rk_live_canary", "whsec_canary",
            ] {
                for answer in [
                    try await api.post("/v1/watches", #"{"source":"\#(secret)"}"#),
                    try await api.post("/v1/watches/batch", #"[{"source":"\#(secret)"}]"#),
                    try await api.post(
                        "/v1/endpoints",
                        #"{"url":"https://shop.example/","sources":["\#(secret)"]}"#
                    ),
                    try await api.post("/v1/watches/\(secret)/poll", ""),
                    try await api.get("/v1/watches/\(secret)"),
                    try await api.get("/v1/watches/\(secret)/events"),
                    try await api.get("/v1/watches/\(secret)/timeline"),
                    try await api.get("/v1/events?source=\(secret)"),
                    try await api.get("/v1/watches?q=\(secret)"),
                    try await api.get("/v1/orders/\(secret)"),
                ] {
                    #expect([400, 422].contains(answer.status), "\(answer.text)")
                    #expect(!answer.text.contains("canary"), "\(answer.text)")
                    #expect(answer.text.contains("not an id"), "\(answer.text)")
                }
            }
            let advice = try await api.post("/v1/watches", #"{"source":"pi_3Qa_secret_canary"}"#)
            #expect(advice["detail"]?.contains("give pi_3Qa,") == true)
            #expect(try await api.get("/v1/watches").text.contains(#""data":[]"#))
        }
    }

    @Test("the caller's trace is stored with the watch, and an invalid one is ignored")
    func trace() async throws {
        try await LiveAPI.run { api in
            for (number, text) in ["", "no trace", Samples.trace.traceparent].enumerated() {
                for (path, body) in [
                    ("/v1/watches", #"{"source":"src_\#(number)"}"#),
                    ("/v1/watches/batch", #"[{"source":"src_b\#(number)"}]"#),
                ] {
                    let headers = ["Content-Type": "application/json", "traceparent": text]
                    let answer = try await api.request(.POST, path, body: body, headers: headers)
                    #expect(answer.status == 200 || answer.status == 201)
                }
                for source in ["src_\(number)", "src_b\(number)"] {
                    let key = WatchKey(source)
                    let kept = try await api.store.snapshot(of: key)?.watch.trace
                    #expect(kept == (number == 2 ? Samples.trace : nil))
                }
            }
        }
    }

    @Test("IDs with an unknown prefix need a kind, in body and query")
    func kinds() async throws {
        try await LiveAPI.run { api in
            let missing = try await api.post("/v1/watches", #"{"source":"foo_1"}"#)
            #expect(missing.status == 400)
            #expect(missing.code == "missing_field")
            #expect(missing["field"] == "kind")
            let named = try await api.post(
                "/v1/watches",
                #"{"source":"foo_1","kind":"payment_intent"}"#
            )
            #expect(named.status == 201)
            #expect(try await api.get("/v1/watches/foo_1").code == "invalid_parameter")
            #expect(try await api.get("/v1/watches/foo_1?kind=payment_intent").status == 200)
        }
    }

    @Test("a manual poll gets 202, and 409 after the watch is closed")
    func pollNow() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            #expect(try await api.post("/v1/watches/src_1/poll").status == 202)
            try await api.see("src_1", "consumed", final: true)
            let closed = try await api.post("/v1/watches/src_1/poll")
            #expect(closed.status == 409)
            #expect(closed.code == "watch_closed")
            #expect(try await api.post("/v1/watches/src_2/poll").code == "watch_not_found")
        }
    }

    @Test("a manual poll reopens a paid watch, but not a cancelled one")
    func pollClosed() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.work(on: "src_1") { lease, _ in
                let memory = PaymentMemory(object: "abc-_1", payment: "k3f9a2")
                let change = WatchChange(state: lease.item.state, payment: memory)
                return Commit(ref: lease.ref, verdict: .close(.settled), change: change)
            }
            let before = try await api.get("/v1/watches/src_1")
            #expect(before["state"] == "closed")
            let opened = try await api.post("/v1/watches/src_1/poll")
            #expect(opened.status == 202 && opened["state"] == "open", "\(opened.text)")
            #expect(opened.number("run") == 2)
            _ = try await api.request(.DELETE, "/v1/watches/src_1")
            #expect(try await api.post("/v1/watches/src_1/poll").code == "watch_closed")
        }
    }

    @Test("cancelling closes a watch and can be repeated, and a settled watch gets 409")
    func cancel() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            let first = try await api.request(.DELETE, "/v1/watches/src_1")
            #expect(first.status == 200)
            #expect(first["closed_reason"] == "cancelled")
            #expect(try await api.request(.DELETE, "/v1/watches/src_1").status == 200)
            try await api.enqueue("src_2")
            try await api.see("src_2", "failed", final: true)
            #expect(try await api.request(.DELETE, "/v1/watches/src_2").code == "watch_closed")
            #expect(try await api.request(.DELETE, "/v1/watches/src_3").status == 404)
        }
    }

    @Test("the same source in two accounts is two watches")
    func accounts() async throws {
        try await LiveAPI.run { api in
            for account in ["acct_a", "acct_b"] {
                let body = #"{"source":"src_1","account":"\#(account)"}"#
                #expect(try await api.post("/v1/watches", body).status == 201)
            }
            _ = try await api.request(.DELETE, "/v1/watches/src_1?account=acct_a")
            #expect(try await api.get("/v1/watches/src_1?account=acct_a")["state"] == "closed")
            #expect(try await api.get("/v1/watches/src_1?account=acct_b")["state"] == "open")
            #expect(try await api.get("/v1/watches/src_1").status == 404)
        }
    }

    @Test("a list is paged without loss or repeats, and can be filtered")
    func lists() async throws {
        try await LiveAPI.run { api in
            for number in 0..<25 { try await api.enqueue("src_\(number)") }
            try await api.see("src_3", "consumed", final: true)
            var seen: [String] = []
            var cursor = ""
            repeat {
                let page = try await api.get("/v1/watches?limit=10\(cursor)")
                #expect(page.status == 200)
                seen += page.list("data").compactMap { $0["source"] as? String }
                cursor = page["next"].map { "&cursor=\($0)" } ?? ""
                #expect(page.json["has_more"] as? Bool == !cursor.isEmpty)
            } while !cursor.isEmpty
            #expect(Set(seen).count == 25)
            #expect(seen.count == 25)
            #expect(seen.last == "src_0", "the first enqueued is the last of the list")
            let closed = try await api.get("/v1/watches?state=closed&status=consumed")
            #expect(closed.list("data").count == 1)
            try await api.see("src_4", "chargeable", payment: .authorised)
            let authorised = try await api.get("/v1/watches?payment=authorised").list("data")
            #expect(authorised.map { $0["source"] as? String } == ["src_4"])
            let unknown = try await api.get("/v1/watches?payment=gone")
            #expect(unknown.status == 400 && unknown["field"] == "payment")
        }
    }

    @Test("an unavailable store gets 503 with `Retry-After`, and the next request works")
    func storeDown() async throws {
        try await LiveAPI.run { api in
            api.plan.setDown(true)
            let down = try await api.post("/v1/watches", #"{"source":"src_1"}"#)
            #expect(down.status == 503)
            #expect(down.code == "store_unavailable")
            #expect(down.headers.first(name: "Retry-After") == "1")
            api.plan.setDown(false)
            #expect(try await api.post("/v1/watches", #"{"source":"src_1"}"#).status == 201)
        }
    }
}

@Suite("Goals and URLs of watches")
struct WatchGoalRoutesTests {
    /// A locator with the URLs of one upstream, `https://bank.example/<id>`.
    private struct Bank: SourceLocator {
        func key(
            of url: String,
            account: AccountID?,
            among accounts: AccountSet
        ) throws(InvalidInput) -> WatchKey {
            let start = "https://bank.example/"
            guard url.hasPrefix(start), account.map({ $0.description == "bank" }) ?? true else {
                throw InvalidInput("url", "matches no configured upstream (bank)")
            }
            return WatchKey(
                account: try AccountID("bank"),
                source: try SourceID(String(url.dropFirst(start.count))),
                kind: .http
            )
        }
    }

    @Test("a goal is stored, defaults to `settled`, and a join keeps the farther one")
    func goals() async throws {
        try await LiveAPI.run { api in
            let plain = try await api.post("/v1/watches", #"{"source":"src_1"}"#)
            #expect(plain["until"] == "settled")
            let body = #"{"source":"src_2","until":"left_pending"}"#
            #expect(try await api.post("/v1/watches", body)["until"] == "left_pending")
            let farther = #"[{"source":"src_2","until":"final"},{"source":"src_2","until":null}]"#
            #expect(try await api.post("/v1/watches/batch", farther).status == 200)
            #expect(try await api.get("/v1/watches/src_2")["until"] == "final")
            let http = #"{"source":"1","account":"bank","kind":"http","until":"left_pending"}"#
            #expect(try await api.post("/v1/watches", http)["field"] == "until")
        }
    }

    @Test("a URL identifies the watch of an upstream's source, alone and in a batch")
    func byURL() async throws {
        try await LiveAPI.run(locator: Bank()) { api in
            let url = #"{"url":"https://bank.example/pay-1"}"#
            let made = try await api.post("/v1/watches", url)
            #expect(made.status == 201 && made["source"] == "pay-1", "\(made.text)")
            #expect(made["account"] == "bank" && made["kind"] == "http")
            let same = """
                [{"url":"https://bank.example/pay-1","source":"pay-1","kind":"http"},
                 {"source":"pay-1","account":"bank","kind":"http"}]
                """
            let batch = try await api.post("/v1/watches/batch", same)
            #expect(batch.number("joined") == 1 && batch.number("duplicates") == 1, "\(batch.text)")
        }
    }

    @Test(
        "an unknown or contradictory URL is rejected with the wrong field",
        arguments: [
            (#"{"url":"https://elsewhere.example/1"}"#, "url"), (#"{"url":7}"#, "url"),
            (#"{"url":"https://bank.example/1","source":"2"}"#, "source"),
            (#"{"url":"https://bank.example/1","kind":"source"}"#, "kind"),
            (#"{"url":"https://bank.example/1","account":"shop"}"#, "url"),
            (#"{"url":"https://bank.example/a b"}"#, "source"),
        ]
    )
    func refused(body: String, field: String) async throws {
        try await LiveAPI.run(locator: Bank()) { api in
            let answer = try await api.post("/v1/watches", body)
            #expect(answer.status == 400 || answer.status == 422)
            #expect(answer["field"] == field, "\(answer.text)")
        }
    }
}
