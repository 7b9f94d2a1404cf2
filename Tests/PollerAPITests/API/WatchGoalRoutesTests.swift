import Foundation
import Poller
import Testing

@testable import PollerAPI

@Suite("How far, and by which name, a watch is asked for")
struct WatchGoalRoutesTests {
    /// Knows the URLs of one upstream, `https://bank.example/<id>`.
    private struct Bank: SourceLocator {
        func key(of url: String, account: AccountID?) throws(InvalidInput) -> WatchKey {
            let start = "https://bank.example/"
            guard url.hasPrefix(start), account.map({ $0.description == "bank" }) ?? true else {
                throw InvalidInput(field: "url", message: "matches no configured upstream (bank)")
            }
            return WatchKey(
                account: try AccountID("bank"),
                source: try SourceID(String(url.dropFirst(start.count))),
                kind: .http
            )
        }
    }

    @Test("a goal is kept and shown; settled when nobody says; the farther one of two")
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

    @Test("a URL names the watch of an upstream's source, one at a time and in a batch")
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
        "a URL that contradicts the rest, or is nobody's, is refused with the field that is wrong",
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
