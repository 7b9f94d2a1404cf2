import PollerTesting
import Testing

@testable import PollerAPI

@Suite("Batch requests")
struct BatchRoutesTests {
    @Test("a JSON array and JSON lines are equivalent")
    func bothForms() async throws {
        try await LiveAPI.run { api in
            let array = try await api.post(
                "/v1/watches/batch",
                #"[{"source":"src_1"},{"source":"pi_2"}]"#
            )
            #expect(array.status == 200)
            #expect(array.number("created") == 2)
            let lines = try await api.post(
                "/v1/watches/batch",
                "{\"source\":\"src_1\"}\r\n\n{\"source\":\"src_3\"}",
                type: "application/x-ndjson"
            )
            #expect(lines.number("created") == 1)
            #expect(lines.number("joined") == 1)
            #expect(lines.list("data").map { $0["source"] as? String } == ["src_1", "src_3"])
        }
    }

    @Test("duplicate items are counted once, and items with other options join")
    func duplicates() async throws {
        try await LiveAPI.run { api in
            let answer = try await api.post(
                "/v1/watches/batch",
                """
                [{"source":"src_1"},{"source":"src_1"},
                 {"source":"src_1","notify":["https://b.example/"]},{"source":"src_1"}]
                """
            )
            #expect(answer.number("created") == 1)
            #expect(answer.number("joined") == 1)
            #expect(answer.number("duplicates") == 2)
            let watch = try await api.get("/v1/watches/src_1")
            #expect(watch.json["notify"] as? [String] == ["https://b.example/"])
        }
    }

    @Test("a watch at its limit of notify URLs takes no more, and other items are enqueued")
    func tooManyEndpoints() async throws {
        try await LiveAPI.run { api in
            func body(_ source: String, _ numbers: Range<Int>) -> String {
                let urls = numbers.map { #""https://\#($0).example/""# }
                return #"{"source":"\#(source)","notify":[\#(urls.joined(separator: ","))]}"#
            }
            for start in stride(from: 0, to: 64, by: 16) {
                let answer = try await api.post("/v1/watches", body("src_1", start..<start + 16))
                #expect(answer.status == (start == 0 ? 201 : 200), "\(answer.text)")
            }
            let alone = try await api.post("/v1/watches", body("src_1", 64..<65))
            #expect(alone.status == 422 && alone.code == "invalid_value")
            #expect(alone.text.contains("would have more than 64 notify URLs"), "\(alone.text)")
            let batch = try await api.post(
                "/v1/watches/batch",
                "[\(body("src_1", 60..<66)),\(body("src_2", 0..<1))]"
            )
            #expect(batch.status == 200)
            #expect(batch.number("created") == 1 && batch.number("joined") == 0)
            let outcomes = batch.list("data").map { $0["outcome"] as? String }
            #expect(outcomes == ["refused", "created"])
            let watch = try await api.get("/v1/watches/src_1")
            #expect((watch.json["notify"] as? [String])?.count == 64)
        }
    }

    @Test("invalid items are reported by index, and nothing is enqueued")
    func allOrNothing() async throws {
        try await LiveAPI.run { api in
            var items = (0..<50).map { #"{"source":"src_\#($0)"}"# }
            items[7] = #"{"source":"src 7"}"#
            items[30] = #"{"source":"src_30","timeout":"-5s"}"#
            let answer = try await api.post(
                "/v1/watches/batch",
                "[\(items.joined(separator: ","))]"
            )
            #expect(answer.status == 422)
            #expect(answer.code == "invalid_batch")
            #expect(answer.list("errors").map { $0["index"] as? Int } == [7, 30])
            #expect(answer.list("errors").map { $0["field"] as? String } == ["source", "timeout"])
            #expect(answer.number("errors_total") == 2)
            #expect(try await api.get("/v1/watches").list("data").isEmpty)
        }
    }

    @Test("at most 20 errors are listed, and all are counted")
    func errorsAreBounded() async throws {
        try await LiveAPI.run { api in
            let items = (0..<500).map { _ in #"{"source":""}"# }.joined(separator: ",")
            let answer = try await api.post("/v1/watches/batch", "[\(items)]")
            #expect(answer.list("errors").count == 20)
            #expect(answer.number("errors_total") == 500)
        }
    }

    @Test("a batch of 10,000 items is accepted, and a larger one is rejected")
    func countIsBounded() async throws {
        try await LiveAPI.run { api in
            let items = (0..<10_001).map { #"{"source":"src_\#($0)"}"# }
            let tooMany = try await api.post(
                "/v1/watches/batch",
                "[\(items.joined(separator: ","))]"
            )
            #expect(tooMany.status == 422)
            let full = try await api.post(
                "/v1/watches/batch",
                items.dropLast().joined(separator: "\n"),
                type: "application/x-ndjson"
            )
            #expect(full.number("created") == 10_000)
        }
    }

    @Test(
        "an invalid batch body is rejected",
        arguments: ["", "[]", "{}", "7", #"[{"source":"src_1"}"#, "[7]", "[null]", "[[]]"]
    )
    func noBatch(body: String) async throws {
        try await LiveAPI.run { api in
            let answer = try await api.post("/v1/watches/batch", body)
            #expect([400, 422].contains(answer.status))
            #expect(try await api.get("/v1/watches").list("data").isEmpty)
        }
    }

    @Test("a lost store response fails the batch with 503, and a repeat joins its watches")
    func storeLosesAnswer() async throws {
        try await LiveAPI.run { api in
            let items = (0..<2500).map { #"{"source":"src_\#($0)"}"# }.joined(separator: "\n")
            api.plan.fail(.other, [.answerLost])
            let failed = try await api.post(
                "/v1/watches/batch",
                items,
                type: "application/x-ndjson"
            )
            #expect(failed.status == 503)
            let again = try await api.post(
                "/v1/watches/batch",
                items,
                type: "application/x-ndjson"
            )
            #expect(again.number("joined") == 2500)
            #expect(again.number("created") == 0)
        }
    }
}
