import Foundation
import JSONText
import NIOHTTP1
import PollerIdentity
import PollerOperations
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI

@Suite("Signed archives", .timeLimit(.minutes(5)))
struct ArchiveSigningTests {
    private static let path = "/v1/watches/batch/restore"
    private static let keys = ArchiveKeys.ephemeral

    private func send(
        _ api: LiveAPI,
        _ line: String,
        isTrusted: Bool = false,
        key: String? = nil
    ) async throws -> Answer {
        var headers = ["Content-Type": "application/x-ndjson"]
        if let key { headers["Authorization"] = "Bearer \(key)" }
        return try await api.request(
            .POST,
            Self.path + (isTrusted ? "?trust=true" : ""),
            body: line,
            headers: headers
        )
    }

    /// Returns the line of a closed payment, and the server's representation of the payment.
    private func exported(
        signedBy keys: ArchiveKeys = Self.keys,
        account: String = "default"
    ) async throws -> (line: String, watch: String) {
        var found = (line: "", watch: "")
        try await LiveAPI.run(archives: keys) { api in
            let body = """
                {"source":"src_1","account":"\(account)","order":"A77","notify":["https://a.example/hook"],\
                "metadata":{"customer":"c_1"}}
                """
            #expect(try await api.post("/v1/watches", body).status == 201)
            try await api.see("src_1", "pending")
            try await api.see("src_1", "failed", final: true)
            let line = try await api.get("/v1/watches/src_1/archive?account=\(account)")
            #expect(line.status == 200, "\(line.text)")
            let watch = try await api.get("/v1/watches/src_1?account=\(account)")
            found = (line.text, watch.text)
        }
        return found
    }

    @Test("a server with the same key restores a signed payment unchanged")
    func sameKey() async throws {
        let (line, watch) = try await exported()
        #expect(!line.utf8.contains(0x0A))
        try await LiveAPI.run(archives: Self.keys) { api in
            let answer = try await send(api, line)
            #expect(answer.status == 200 && answer.number("restored") == 1, "\(answer.text)")
            #expect(try await api.get("/v1/watches/src_1").text == watch)
            let again = try await api.get("/v1/watches/src_1/archive")
            #expect(again.text == line)
        }
    }

    @Test("a line signed with another key is rejected with advice, and `trust=true` restores it")
    func otherKey() async throws {
        let (line, _) = try await exported()
        try await LiveAPI.run { api in
            let refused = try await send(api, line)
            #expect(refused.status == 422 && refused.code == "invalid_batch", "\(refused.text)")
            let error = try #require(refused.list("errors").first)
            #expect(error["field"] as? String == "digest")
            let detail = error["detail"] as? String ?? ""
            #expect(detail.contains("--trust") && detail.contains("watches:trust"), "\(detail)")
            #expect(detail.contains("another cluster"), "\(detail)")
            #expect(try await api.get("/v1/watches/src_1").status == 404)
            let trusted = try await send(api, line, isTrusted: true)
            #expect(trusted.number("restored") == 1, "\(trusted.text)")
            let entries = try await api.get("/v1/audit").list("data")
            let after = entries.first?["after"] as? [String: String]
            #expect(after == ["state": "closed", "unsigned": "1"])
        }
    }

    @Test("a line without a valid digest is rejected")
    func withoutDigest() async throws {
        let (line, _) = try await exported()
        let digest = try #require(RawJSON(line)?.member("digest")?.description)
        try await LiveAPI.run(archives: Self.keys) { api in
            for wrong in [
                Archive.line("src_1"), line.replacing(#","digest":\#(digest)"#, with: ""),
                line.replacing(digest, with: "null"), line.replacing(digest, with: "7"),
                line.replacing(digest, with: #""""#), line.replacing(digest, with: "{}"),
            ] {
                #expect(wrong != line)
                let refused = try await send(api, wrong)
                #expect(refused.status == 422, "\(wrong)")
                let detail = refused.list("errors").first?["detail"] as? String ?? ""
                #expect(detail.contains("--trust"), "\(detail)")
            }
            #expect(try await send(api, line).number("restored") == 1)
        }
    }

    @Test("rejected lines are reported by index, and nothing is restored")
    func oneByOne() async throws {
        let (line, _) = try await exported()
        try await LiveAPI.run(archives: Self.keys) { api in
            let lines = [line, Archive.line("src_2"), line.replacing("c_1", with: "c_2")]
            let refused = try await send(api, lines.joined(separator: "\n"))
            #expect(refused.list("errors").map { $0["index"] as? Int } == [1, 2])
            #expect(try await api.get("/v1/watches").list("data").isEmpty)
        }
    }

    /// Replaces and removes every member of the watch.
    ///
    /// A line that is still accepted must restore the same watch.
    @Test("the signature covers every member that a restore reads")
    func coverage() async throws {
        let (line, watch) = try await exported()
        let shown = try #require(RawJSON(line)?.member("watch"))
        let members = try #require(shown.members)
        let read = [
            "source", "kind", "account", "state", "closed_reason", "status", "seq", "run",
            "attempts", "created_at", "deadline_at", "last_polled_at", "policy", "until", "notify",
            "order", "metadata", "memory",
        ]
        #expect(Set(read).isSubset(of: members.map(\.name)))
        try await LiveAPI.run(archives: Self.keys) { api in
            for member in members {
                let name = JSONWriter.literal(member.name)
                let other = Self.other(than: member.value, of: member.name)
                for text in [
                    "\(name):\(other)", #""x":1"#, "\(name):\(other),\(name):\(member.value)",
                ] {
                    let changed = shown.description.replacing("\(name):\(member.value)", with: text)
                    #expect(changed != shown.description, "\(member.name)")
                    let answer = try await send(
                        api,
                        line.replacing(shown.description, with: changed)
                    )
                    // A member without a value may be equivalent to an absent one.
                    if read.contains(member.name), text != #""x":1"# {
                        #expect(answer.status == 422, "\(text): \(answer.text)")
                    } else if answer.status == 200 {
                        let restored = try await api.get("/v1/watches/src_1").text
                        #expect(restored == watch, "\(text)")
                    }
                }
            }
            for member in ["last_error", "charge"] {
                let value = member == "charge" ? #"{"state":"succeeded","id":"ch_1"}"# : #""x""#
                let added = line.replacing(
                    #","order":"#,
                    with: #","\#(member)":\#(value),"order":"#
                )
                #expect(added != line)
                #expect(try await send(api, added).status == 422, "\(member)")
            }
        }
    }

    private static func other(than value: RawJSON, of name: String) -> String {
        switch value.kind {
        case .null: #""x""#
        case .bool: value.bool == true ? "false" : "true"
        case .number: value.number == "7" ? "8" : "7"
        case .array: #"["https://other.example/"]"#
        case .object: #"{"customer":"c_2"}"#
        case .string:
            switch name {
            case "policy": #""patient""#
            case "until": #""final""#
            case "closed_reason": #""expired""#
            case "kind": #""charge""#
            case "state": #""closed ""#
            default:
                name.hasSuffix("_at") ? #""2026-01-01T00:00:00.000Z""# : #""other""#
            }
        }
    }

    @Test("changed, missing, added or reordered events are rejected, and white space is ignored")
    func events() async throws {
        let (line, _) = try await exported()
        let events = try #require(RawJSON(line)?.member("events"))
        let all = try #require(events.elements).map(\.description)
        #expect(all.count == 2)
        try await LiveAPI.run(archives: Self.keys) { api in
            for changed in [
                [all[1]], [all[1], all[0]], [all[0], all[1], all[1]], [],
                [all[0], all[1].replacing("1.50", with: "1.5")],
                [all[0].replacing(#""lag_ms":3"#, with: #""lag_ms":4"#), all[1]],
                [all[0], all[1].replacing(#"{"id":"evt"#, with: #"{"note":1,"id":"evt"#)],
            ] {
                let text = "[\(changed.joined(separator: ","))]"
                #expect(text != events.description)
                let wrong = line.replacing(events.description, with: text)
                let refused = try await send(api, wrong)
                #expect(refused.status == 422, "\(text)")
            }
            // White space that a formatter adds between the parts is not significant.
            let spaced = line.replacing(
                events.description,
                with: "[ \(all.joined(separator: " , ")) ]"
            )
            let restored = try await send(api, spaced)
            #expect(restored.number("restored") == 1)
        }
    }

    @Test("a bound key restores only signed lines of its own account")
    func boundKey() async throws {
        let (own, _) = try await exported(account: "acme")
        let (others, _) = try await exported(account: "other")
        let bound = "key-of-acme-0123456789"
        let all = "key-of-everything-0123456789"
        let file = try KeyFile(text: "\(bound) role=admin account=acme\n\(all)")
        try await LiveAPI.run(keys: file, archives: Self.keys) { api in
            for isTrusted in [false, true] {
                let refused = try await send(api, others, isTrusted: isTrusted, key: bound)
                #expect(refused.status == (isTrusted ? 403 : 422), "\(refused.text)")
            }
            let vouched = try await send(api, own, isTrusted: true, key: bound)
            #expect(vouched.status == 403 && vouched.text.contains("watches:trust"))
            // The signed line of one account cannot be restored under another.
            let moved = others.replacing(#""account":"other""#, with: #""account":"acme""#)
            #expect(try await send(api, moved, key: bound).status == 422)
            let restored = try await send(api, own, key: bound)
            #expect(restored.number("restored") == 1, "\(restored.text)")
            let headers = ["Authorization": "Bearer \(all)"]
            let found = try await api.get("/v1/watches", headers: headers).list("data")
            #expect(found.map { $0["account"] as? String } == ["acme"])
        }
    }

    @Test("an open watch has a signed archive, but a restore skips it")
    func open() async throws {
        try await LiveAPI.run(archives: Self.keys) { api in
            try await api.enqueue("src_1")
            let line = try await api.get("/v1/watches/src_1/archive").text
            let answer = try await send(api, line)
            #expect(answer.number("open") == 1, "\(answer.text)")
            #expect(try await api.get("/v1/watches/src_2/archive").code == "watch_not_found")
        }
    }

    @Test("an upstream object with duplicate members and a lone surrogate is restored")
    func oddObject() async throws {
        let many = (0..<2000).map { #""m\#($0)":0"# }.joined(separator: ",")
        let odd = #"{"a":1,"a":2,"half":"\ud800",\#(many)}"#
        let (line, _) = try await exported()
        let object = #"{"id":"src_1","amount":1.50,"nested":{"object":"}"}}"#
        let changed = line.replacing(object, with: odd)
        #expect(changed != line)
        try await LiveAPI.run(archives: Self.keys) { api in
            let answer = try await send(api, changed, isTrusted: true)
            #expect(answer.number("restored") == 1, "\(answer.text)")
            #expect(try await api.get("/v1/watches/src_1/events").text.contains(odd))
        }
    }

    @Test("names that could break a header, field or record are rejected even in trusted lines")
    func hostileNames() async throws {
        let (line, _) = try await exported()
        let events = try #require(RawJSON(line)?.member("events"))
        let id = try #require(events.elements?.first?.member("id")?.description)
        let second = try #require(events.elements?.last?.member("id")?.description)
        let last = #""run":1,"previous_status""#
        try await LiveAPI.run(archives: Self.keys) { api in
            for (was, becomes) in [
                (id, #""evt_1\r\nX-Evil: 1""#), (id, #""""#), (id, second),
                (id, "\"evt_\(String(repeating: "a", count: 400))\""),
                (#""type":"source.failed""#, #""type":"source.failed\ndata: x""#),
                (#""previous_status":"pending""#, #""previous_status":"a\u0000b""#),
                (#""seq":2,\#(last)"#, #""seq":2,"run":2,"previous_status""#),
                (#""seq":2,\#(last)"#, #""seq":2,"run":0,"previous_status""#),
                (#""order":"A77","seq""#, #""order":"A77\n","seq""#),
                (#"},"events""#, #","charge":{"state":"succeeded","id":"ch|1"}},"events""#),
            ] {
                let wrong = line.replacing(was, with: becomes)
                #expect(wrong != line, "\(becomes)")
                let answer = try await send(api, wrong, isTrusted: true)
                #expect(answer.status == 422, "\(becomes): \(answer.text)")
            }
            let huge = String(repeating: "a", count: ArchivedWatch.eventBytesMax)
            let big = line.replacing(#""amount":1.50"#, with: #""amount":"\#(huge)""#)
            #expect(try await send(api, big, isTrusted: true).status == 422)
            #expect(try await send(api, line).number("restored") == 1)
        }
    }
}
