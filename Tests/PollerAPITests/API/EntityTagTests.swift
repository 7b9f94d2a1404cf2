import Foundation
import HTTPTypes
import NIOHTTP1
import PollerIdentity
import PollerQueue
import PollerTesting
import Testing

@testable import PollerAPI

@Suite("ETags and preconditions", .timeLimit(.minutes(5)))
struct EntityTagTests {
    private static func tag(_ answer: Answer) -> String? { answer.headers.first(name: "ETag") }

    private static func patch(
        _ api: LiveAPI,
        _ path: String,
        _ body: String,
        if tag: String?
    ) async throws -> Answer {
        var headers = ["Content-Type": "application/json"]
        headers["If-Match"] = tag
        return try await api.request(.PATCH, path, body: body, headers: headers)
    }

    @Test("every JSON response below `/v1` has an ETag, and a matching request gets 304")
    func everyAnswer() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            _ = try await api.post("/v1/lanes/default/sources/pause")
            var seen: Set<String> = []
            for route in api.routes where route.method == .get {
                let path = route.path.replacing("{source}", with: "src_1")
                    .replacing("{lane}", with: "default/sources")
                let answer = try await api.get(path)
                guard route.hasTags, answer.status == 200 else {
                    #expect(Self.tag(answer) == nil || answer.status == 200, "\(path)")
                    continue
                }
                seen.insert(route.operation)
                let tag = try #require(Self.tag(answer), "\(path)")
                #expect(tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.count >= 24, "\(tag)")
                for known in [tag, "*", "W/\(tag)", "\"x\", \(tag)", "\"a,b\",\(tag)"] {
                    let again = try await api.get(path, headers: ["If-None-Match": known])
                    // Some responses contain the time. A changed response has another tag.
                    if again.status == 200 {
                        #expect(known != "*" && Self.tag(again) != tag, "\(path) \(known)")
                    } else {
                        #expect(again.status == 304 && again.text.isEmpty, "\(path) \(known)")
                        #expect(Self.tag(again) != nil)
                    }
                }
                for other in ["\"x\"", "x", "\"\(tag.dropFirst(3))"] {
                    let again = try await api.get(path, headers: ["If-None-Match": other])
                    #expect(again.status == 200, "\(path) \(other)")
                }
            }
            #expect(
                seen.isSuperset(of: ["getWatch", "listWatches", "getLane", "getCaller", "stats"])
            )
        }
    }

    @Test("the ETag changes only with the response")
    func changes() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            let first = try #require(Self.tag(try await api.get("/v1/watches/src_1")))
            let same = try await api.get("/v1/watches/src_1", headers: ["If-None-Match": first])
            #expect(same.status == 304)
            try await api.see("src_1", "chargeable")
            let changed = try await api.get("/v1/watches/src_1", headers: ["If-None-Match": first])
            #expect(changed.status == 200 && Self.tag(changed) != first)
        }
    }

    @Test("long polls ignore `If-None-Match` and have no ETag")
    func longPolls() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.see("src_1", "chargeable")
            for path in ["/v1/watches/src_1?after_seq=0&wait=1s", "/v1/events?wait=0s"] {
                let answer = try await api.get(path, headers: ["If-None-Match": "*"])
                #expect(answer.status == 200 && Self.tag(answer) == nil, "\(path) \(answer.status)")
            }
        }
    }

    @Test("of concurrent changes with the same ETag one succeeds, and the others get 412")
    func twoEditors() async throws {
        try await LiveAPI.run { api in
            let made = try await api.post("/v1/endpoints", #"{"url":"https://shop.example/"}"#)
            let path = "/v1/endpoints/\(try #require(made["id"]))"
            let tag = try #require(Self.tag(try await api.get(path)))
            let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                for number in 1...8 {
                    group.addTask {
                        try await Self.patch(api, path, #"{"timeout":"\#(number)s"}"#, if: tag)
                    }
                }
                return try await group.reduce(into: [Answer]()) { $0.append($1) }
            }
            #expect(answers.count { $0.status == 200 } == 1)
            for other in answers where other.status != 200 {
                #expect(other.status == 412 && other.code == "precondition_failed", "\(other.text)")
                #expect(other["field"] == "If-Match")
            }
            let gone = try await api.request(.DELETE, path, headers: ["If-Match": tag])
            #expect(gone.status == 412)
            let newest = try #require(Self.tag(try await api.get(path)))
            #expect(newest != tag)
            let weak = try await Self.patch(api, path, #"{"timeout":"9s"}"#, if: "W/\(newest)")
            #expect(weak.status == 412, "a weak tag is strong enough for nothing")
            let right = try await Self.patch(
                api,
                path,
                #"{"timeout":"9s"}"#,
                if: "\"x\", \(newest)"
            )
            #expect(right.status == 200, "\(right.text)")
            let any = try await Self.patch(api, path, #"{"timeout":"8s"}"#, if: "*")
            #expect(any.status == 200)
            let wrong = try await Self.patch(api, path, #"{"timeout":"8s"}"#, if: newest + "x")
            #expect(wrong.status == 400 && wrong.code == "invalid_header", "\(wrong.text)")
            let none = try await api.request(.DELETE, path, headers: ["If-Match": "*"])
            #expect(none.status == 200)
            let missing = try await Self.patch(api, path, #"{"timeout":"8s"}"#, if: "*")
            #expect(missing.code == "endpoint_not_found")
        }
    }

    @Test("a change of an endpoint's health does not fail an edit with an older ETag")
    func healthIsNobodys() async throws {
        try await LiveAPI.run { api in
            let made = try await api.post("/v1/endpoints", #"{"url":"https://shop.example/"}"#)
            let id = try #require(made["id"])
            let before = try #require(Self.tag(try await api.get("/v1/endpoints/\(id)")))
            try await api.backend.deliveries.pause(LaneID(endpoint: EndpointID(unchecked: id)))
            let paused = try #require(Self.tag(try await api.get("/v1/endpoints/\(id)")))
            #expect(paused != before, "it is told otherwise")
            let edited = try await Self.patch(
                api,
                "/v1/endpoints/\(id)",
                #"{"coalesce":true}"#,
                if: before
            )
            #expect(edited.status == 200, "\(edited.text)")
        }
    }

    @Test("a lane's limit is changed only with the ETag of the current limit")
    func lanes() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            let path = "/v1/lanes/default/sources"
            func limit(_ body: String, if tag: String?) async throws -> Answer {
                var headers = ["Content-Type": "application/json"]
                headers["If-Match"] = tag
                return try await api.request(.POST, path + "/limit", body: body, headers: headers)
            }
            let seen = try #require(Self.tag(try await api.get(path)))
            #expect(try await limit(#"{"rate":3}"#, if: seen).status == 200)
            let late = try await limit(#"{"burst":9}"#, if: seen)
            #expect(late.status == 412 && late.code == "precondition_failed")
            // A pause does not change the limit.
            let now = try #require(Self.tag(try await api.get(path)))
            _ = try await api.post(path + "/pause")
            let second = try await limit(#"{"burst":9}"#, if: now)
            #expect(second.status == 200, "\(second.text)")
            let own = try #require(second.json["limit"] as? [String: Any])
            #expect(own["rate"] as? Double == 3 && own["burst"] as? Int == 9)
            // Without a condition, two concurrent changes of different fields both succeed.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for body in [#"{"rate":7}"#, #"{"concurrency":4}"#] {
                    group.addTask {
                        let answer = try await limit(body, if: nil)
                        #expect(answer.status == 200, "\(answer.text)")
                    }
                }
                try await group.waitForAll()
            }
            let all = try #require(try await api.get(path).json["limit"] as? [String: Any])
            #expect(all["rate"] as? Double == 7 && all["concurrency"] as? Int == 4, "\(all)")
            let missing = try await api.request(
                .POST,
                "/v1/lanes/default/charges/limit",
                body: #"{"rate":1}"#,
                headers: ["If-Match": "*"]
            )
            #expect(missing.status == 412, "\(missing.text)")
        }
    }

    @Test("a page with a sealed cursor keeps its ETag until something changes")
    func sealedPages() async throws {
        let keys = "key-of-one-account-0123456789 account=default\nkey-of-everything-0123456789"
        try await LiveAPI.run(keys: KeyFile(text: keys)) { api in
            let all = ["Authorization": "Bearer key-of-everything-0123456789"]
            for number in 0..<3 {
                _ = try await api.request(
                    .POST,
                    "/v1/watches",
                    body: #"{"source":"src_\#(number)"}"#,
                    headers: all
                )
            }
            let own = ["Authorization": "Bearer key-of-one-account-0123456789"]
            let page = try await api.get("/v1/watches?limit=1", headers: own)
            #expect(page["next"] != nil)
            let tag = try #require(Self.tag(page))
            let again = try await api.get(
                "/v1/watches?limit=1",
                headers: own.merging(["If-None-Match": tag]) { $1 }
            )
            #expect(again.status == 304)
        }
    }

    @Test("a header is parsed as a list of ETags, and invalid headers are rejected")
    func lists() {
        for (text, tags) in [
            (#""a""#, ["a"]), (#"W/"a""#, ["a"]), (#""a", "b""#, ["a", "b"]),
            (#" "a,b" ,,"c" "#, ["a,b", "c"]), (#""""#, [""]),
        ] {
            #expect(EntityTag.list(text)?.map(\.opaque) == tags, "\(text)")
        }
        for text in ["", "a", #""a"#, #""a"b"#, "*", #""a" x"#, #"w/"a""#] {
            #expect(EntityTag.list(text) == nil, "\(text)")
        }
        #expect(EntityTag.list(#"W/"a""#)?.first?.isWeak == true)
    }
}

@Suite("Form-encoded queries")
struct QueryTests {
    @Test("`+` and `%20` are a space, and `%2B` is a plus")
    func plus() async throws {
        try await LiveAPI.run { api in
            for (source, note) in [("src_1", "a b"), ("src_2", "a+b")] {
                let body = #"{"source":"\#(source)","metadata":{"order":"\#(note)"}}"#
                #expect(try await api.post("/v1/watches", body).status == 201)
            }
            for (query, found) in [
                ("metadata.order=a+b", ["src_1"]), ("metadata.order=a%20b", ["src_1"]),
                ("metadata.order=a%2Bb", ["src_2"]), ("%6detadata.order=a%2bb", ["src_2"]),
                ("q=state%3Dopen+source%3Dsrc_2", ["src_2"]),
                ("limit=1&q=source%3Dsrc_1", ["src_1"]),
            ] {
                let page = try await api.get("/v1/watches?\(query)")
                #expect(page.status == 200, "\(query): \(page.text)")
                let sources = page.list("data").compactMap { $0["source"] as? String }
                #expect(sources == found, "\(query)")
            }
            for (query, code) in [
                ("limit=+5", "invalid_parameter"), ("limit", "invalid_parameter"),
                ("limit=", "invalid_parameter"), ("a+b=1", "unknown_parameter"),
                ("limit=1&limit=2", "invalid_parameter"), ("metadata.order=%zz", nil),
                ("&&", nil), ("=", nil),
            ] {
                let answer = try await api.get("/v1/watches?\(query)")
                #expect(answer.code == code, "\(query): \(answer.text)")
            }
        }
    }
}
