import Foundation
import HTTPTypes
import NIOHTTP1
import PollerIdentity
import PollerTesting
import Testing

@testable import PollerAPI

@Suite("Idempotent requests", .timeLimit(.minutes(5)))
struct RepeatTests {
    private static let keys = """
        key-of-the-first-0123456789 role=admin name=shop
        key-of-the-second-0123456789 role=admin name=shop
        """

    private static func headers(_ name: String?, of key: String? = nil) -> [String: String] {
        var headers = ["Content-Type": "application/json"]
        headers["Idempotency-Key"] = name
        headers["Authorization"] = key.map { "Bearer key-of-the-\($0)-0123456789" }
        return headers
    }

    private static func isReplay(_ answer: Answer) -> Bool {
        answer.headers.first(name: "Idempotent-Replayed") == "true"
    }

    @Test("a repeat gets the first response byte for byte, and has no effect")
    func replay() async throws {
        try await LiveAPI.run { api in
            let body = #"{"source":"src_1","metadata":{"a":"ä"}}"#
            func send(_ name: String?) async throws -> Answer {
                try await api.request(.POST, "/v1/watches", body: body, headers: Self.headers(name))
            }
            let first = try await send("order-1")
            #expect(first.status == 201 && !Self.isReplay(first))
            try await api.see("src_1", "consumed", final: true)
            let again = try await send("order-1")
            #expect(again.status == 201 && again.text == first.text && Self.isReplay(again))
            #expect(again.headers.first(name: "Content-Type") == "application/json")
            let ids = [first, again].map { $0.headers.first(name: "X-Request-Id") }
            #expect(ids[0] != ids[1])
            let ended = try await api.get("/v1/watches/src_1")
            #expect(ended["state"] == "closed" && ended.number("run") == 1)
            // Without the key, and with another one, a new run begins.
            #expect(try await send("order-2").status == 201)
            #expect(try await api.get("/v1/watches/src_1").number("run") == 2)
        }
    }

    @Test("the same key with another body, path or query is rejected")
    func reused() async throws {
        try await LiveAPI.run { api in
            for number in 1...2 {
                let hook = #"{"url":"https://shop.example/\#(number)"}"#
                _ = try await api.post("/v1/endpoints", hook)
            }
            let ids = try await api.get("/v1/endpoints").list("data").compactMap {
                $0["id"] as? String
            }
            let path = "/v1/endpoints/\(ids[0])/rotate"
            let headers = Self.headers("r")
            let first = try await api.request(.POST, path, body: "{}", headers: headers)
            #expect(first.status == 200, "\(first.text)")
            for (path, body) in [
                (path, #"{"overlap":"1h"}"#), (path + "?account=default", "{}"),
                ("/v1/endpoints/\(ids[1])/rotate", "{}"),
            ] {
                let other = try await api.request(.POST, path, body: body, headers: headers)
                #expect(other.status == 409 && other.code == "idempotency_key_reused", "\(path)")
                #expect(other["field"] == "Idempotency-Key")
            }
            // The same key is a different name in another operation.
            let watch = #"{"source":"src_1"}"#
            let enqueued = try await api.request(
                .POST,
                "/v1/watches",
                body: watch,
                headers: headers
            )
            #expect(enqueued.status == 201)
            let again = try await api.request(.POST, path, body: "{}", headers: headers)
            #expect(again.text == first.text)
        }
    }

    @Test("of concurrent repeats one is executed, and the others get its response or a 409")
    func atOnce() async throws {
        try await LiveAPI.run(keys: KeyFile(text: Self.keys)) { api in
            let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        try await api.request(
                            .POST,
                            "/v1/keys",
                            body: #"{"role":"viewer"}"#,
                            headers: Self.headers("one", of: "first")
                        )
                    }
                }
                return try await group.reduce(into: [Answer]()) { $0.append($1) }
            }
            let created = Set(answers.filter { $0.status == 201 }.map(\.text))
            #expect(created.count == 1)
            for other in answers where other.status != 201 {
                #expect(other.status == 409 && other.code == "idempotency_key_in_use")
                let after = try #require(
                    other.headers.first(name: "Retry-After").flatMap { Int($0) }
                )
                #expect((1...15).contains(after))
            }
            let all = try await api.get("/v1/keys", headers: Self.headers(nil, of: "first"))
            #expect(all.list("data").count == 1)
        }
    }

    @Test("a rejected request is not recorded, and its idempotency key stays free")
    func refused() async throws {
        try await LiveAPI.run { api in
            for (path, wrong, right) in [
                ("/v1/watches", #"{"source":"src_1","typo":1}"#, #"{"source":"src_1"}"#),
                ("/v1/endpoints", #"{"url":"nowhere"}"#, #"{"url":"https://shop.example/"}"#),
            ] {
                let refused = try await api.request(
                    .POST,
                    path,
                    body: wrong,
                    headers: Self.headers("a")
                )
                #expect((400..<500).contains(refused.status))
                let taken = try await api.request(
                    .POST,
                    path,
                    body: right,
                    headers: Self.headers("a")
                )
                #expect(taken.status == 201 && !Self.isReplay(taken), "\(taken.text)")
            }
            #expect(api.requests.count == 2)
        }
    }

    @Test("a request with a lost store response can be repeated at once, and is executed once")
    func failed() async throws {
        try await LiveAPI.run { api in
            func send() async throws -> Answer {
                try await api.request(
                    .POST,
                    "/v1/watches",
                    body: #"{"source":"src_1"}"#,
                    headers: Self.headers("a")
                )
            }
            // Reads come before and after. The write is the first of the other operations.
            api.plan.fail(.other, [.answerLost])
            let lost = try await send()
            #expect(lost.status == 503 && lost.code == "store_unavailable", "\(lost.text)")
            let again = try await send()
            #expect(again.status == 200, "it joins what was begun: \(again.text)")
            let third = try await send()
            #expect(third.text == again.text && Self.isReplay(third))
        }
    }

    @Test("a repeat after a crash returns the one API key that was created, and it is valid")
    func died() async throws {
        let dying = DyingKeys()
        try await LiveAPI.run(
            keys: KeyFile(text: Self.keys),
            keyStoreInFront: dying.before
        ) { api in
            func send() async throws -> Answer {
                try await api.request(
                    .POST,
                    "/v1/keys",
                    body: #"{"role":"viewer"}"#,
                    headers: Self.headers("one", of: "first")
                )
            }
            #expect(try await send().status == 503)
            // As if that process had been killed and its lease had expired.
            api.requests.endLeases()
            let made = try await send()
            #expect(made.status == 201 && !Self.isReplay(made), "\(made.text)")
            let again = try await send()
            #expect(again.text == made.text && Self.isReplay(again))
            let all = try await api.get("/v1/keys", headers: Self.headers(nil, of: "first"))
            #expect(all.list("data").count == 1)
            let own = try await api.get(
                "/v1/caller",
                headers: ["Authorization": "Bearer \(try #require(made["key"]))"]
            )
            #expect(own.status == 200, "\(own.text)")
            #expect(dying.made == 2, "it was made twice under one id")
        }
    }

    @Test("each API key has its own idempotency keys, even if API keys have the same name")
    func anotherKey() async throws {
        try await LiveAPI.run(keys: KeyFile(text: Self.keys)) { api in
            var created: [Answer] = []
            for key in ["first", "second", "first"] {
                created.append(
                    try await api.request(
                        .POST,
                        "/v1/keys",
                        body: #"{"role":"viewer"}"#,
                        headers: Self.headers("one", of: key)
                    )
                )
            }
            #expect(created.map(\.status) == [201, 201, 201])
            #expect(created.map(Self.isReplay) == [false, false, true])
            #expect(created[0].text == created[2].text && created[0]["key"] != created[1]["key"])
        }
    }

    @Test("each session of the console has the idempotency keys of its API key")
    func sessions() async throws {
        try await LiveAPI.run(keys: KeyFile(text: Self.keys)) { api in
            var created: [Answer] = []
            for key in ["first", "second", "first"] {
                let headers = Self.headers(nil, of: key)
                let begun = try await api.request(.POST, "/v1/session", headers: headers)
                let cookie = try #require(begun.headers.first(name: "Set-Cookie"))
                var session = Self.headers("one")
                session["Cookie"] = String(cookie.prefix { $0 != ";" })
                session["Poller-Console"] = "1"
                created.append(
                    try await api.request(
                        .POST,
                        "/v1/keys",
                        body: #"{"role":"viewer"}"#,
                        headers: session
                    )
                )
            }
            #expect(created.map(\.status) == [201, 201, 201])
            #expect(created.map(Self.isReplay) == [false, false, true])
            #expect(created[0].text == created[2].text && created[0]["key"] != created[1]["key"])
            // The key itself is the same client as its session.
            let headers = Self.headers("one", of: "second")
            let body = #"{"role":"viewer"}"#
            let direct = try await api.request(.POST, "/v1/keys", body: body, headers: headers)
            #expect(Self.isReplay(direct) && direct.text == created[1].text)
        }
    }

    @Test("a revoked key gets no earlier response")
    func access() async throws {
        try await LiveAPI.run(keys: KeyFile(text: Self.keys)) { api in
            let root = Self.headers(nil, of: "first")
            let maker = try await api.request(
                .POST,
                "/v1/keys",
                body: #"{"role":"operator"}"#,
                headers: root
            )
            var headers = Self.headers("hook")
            headers["Authorization"] = "Bearer \(try #require(maker["key"]))"
            let body = #"{"url":"https://shop.example/"}"#
            let made = try await api.request(.POST, "/v1/endpoints", body: body, headers: headers)
            #expect(made.status == 201)
            let id = try #require(maker["id"])
            _ = try await api.request(.DELETE, "/v1/keys/\(id)", headers: root)
            let late = try await api.request(.POST, "/v1/endpoints", body: body, headers: headers)
            #expect(late.status == 401 && late["secret"] == nil, "\(late.text)")
        }
    }

    @Test("responses are stored encrypted, and the one with the first API key is not stored")
    func sealed() async throws {
        try await LiveAPI.run { api in
            let hook = #"{"url":"https://shop.example/","headers":{"X-A":"canary"}}"#
            let made = try await api.request(
                .POST,
                "/v1/endpoints",
                body: hook,
                headers: Self.headers("a")
            )
            let secret = try #require(made["secret"])
            let kept = api.requests.answers
            #expect(kept.count == 1)
            for part in [secret, "shop.example", "201"] {
                #expect(!kept[0].contains(subsequence: Array(part.utf8)), "\(part)")
            }
            let first = try await api.request(
                .POST,
                "/v1/keys",
                body: #"{"role":"admin"}"#,
                headers: Self.headers("b")
            )
            #expect(first.status == 201, "\(first.text)")
            #expect(api.requests.answers.count == 1, "nobody without a key can ask for it again")
        }
    }

    @Test("the response to a large batch is not stored, and its repeat joins the watches")
    func large() async throws {
        try await LiveAPI.run { api in
            let items = (0..<3000).map { #"{"source":"src_\#($0)"}"# }.joined(separator: ",")
            func send() async throws -> Answer {
                try await api.request(
                    .POST,
                    "/v1/watches/batch",
                    body: "[\(items)]",
                    headers: Self.headers("all")
                )
            }
            let first = try await send()
            #expect(first.number("created") == 3000, "\(first.text.prefix(300))")
            #expect(first.text.utf8.count > IdempotencyMiddleware.bytesMax)
            #expect(api.requests.count == 0)
            let again = try await send()
            #expect(again.number("joined") == 3000 && !Self.isReplay(again))
        }
    }

    @Test("every route that writes declares how repeats are handled, with a reason if not stored")
    func everyRoute() async throws {
        let kept: Set = [
            "enqueue", "enqueueBatch", "cancelWatches", "redriveWatches", "dismissWatches",
            "createEndpoint", "rotateEndpoint", "startReplay", "createKey",
        ]
        try await LiveAPI.run { api in
            for route in api.routes where route.method != .get && route.access.scope != nil {
                switch route.idempotency {
                case .unknown: Issue.record("\(route.operation) says nothing")
                case .inherent(let reason):
                    #expect(!kept.contains(route.operation) && reason.count > 10)
                case .kept: #expect(kept.contains(route.operation), "\(route.operation)")
                }
            }
        }
    }
}

extension Collection where Element: Equatable {
    fileprivate func contains(subsequence: [Element]) -> Bool {
        indices.contains { self[$0...].starts(with: subsequence) }
    }
}
