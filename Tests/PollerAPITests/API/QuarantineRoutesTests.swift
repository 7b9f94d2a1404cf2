import Foundation
import NIOHTTP1
import PollerIdentity
import Testing

@testable import PollerAPI

@Suite("Quarantine and explanations")
struct QuarantineRoutesTests {
    @Test("a quarantined watch is listed with its error, and a redrive opens it again")
    func redrive() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.enqueue("src_2")
            try await api.bury("src_1", because: "the body is no JSON")
            let list = try await api.get("/v1/quarantine")
            #expect(list.status == 200)
            #expect(list.list("data").map { $0["source"] as? String } == ["src_1"])
            #expect(list.list("data").first?["last_error"] as? String == "the body is no JSON")
            #expect(list.list("data").first?["closed_reason"] as? String == "dead")
            let same = try await api.get("/v1/watches?state=quarantined")
            #expect(same.list("data").count == 1)

            let again = try await api.post("/v1/quarantine/src_1/redrive")
            #expect(again.status == 200, "\(again.text)")
            #expect(again["state"] == "open")
            #expect(again.number("run") == 2)
            let twice = try await api.post("/v1/quarantine/src_1/redrive")
            #expect(twice.status == 200, "the first answer may have got lost")
            #expect(twice.number("run") == 2)
            #expect(try await api.get("/v1/quarantine").list("data").isEmpty)
        }
    }

    @Test("only a quarantined watch can be redriven")
    func notQuarantined() async throws {
        try await LiveAPI.run { api in
            let unknown = try await api.post("/v1/quarantine/src_9/redrive")
            #expect(unknown.status == 404)
            #expect(unknown.code == "watch_not_found")
            try await api.enqueue("src_1")
            try await api.see("src_1", "consumed", final: true)
            let settled = try await api.post("/v1/quarantine/src_1/redrive")
            #expect(settled.status == 409)
            #expect(settled.code == "watch_not_quarantined")
            #expect(settled["detail"]?.contains("settled") == true)
            let key = ["Idempotency-Key": ""]
            let refused = try await api.request(
                .POST,
                "/v1/quarantine/src_1/redrive",
                headers: key
            )
            #expect(refused.code == "invalid_header")
        }
    }

    @Test("a dismissed watch leaves the quarantine and its counts, and stays closed")
    func dismiss() async throws {
        try await LiveAPI.run { api in
            for source in ["src_1", "src_2"] {
                try await api.enqueue(source)
                try await api.bury(source, because: "the body is no JSON")
            }
            let gone = try await api.post("/v1/quarantine/src_1/dismiss")
            #expect(gone.status == 200, "\(gone.text)")
            #expect(gone["state"] == "closed" && gone["closed_reason"] == "cancelled")
            #expect(gone["last_error"] == "the body is no JSON", "why it was there stays readable")
            let twice = try await api.post("/v1/quarantine/src_1/dismiss")
            #expect(twice.status == 200, "the first answer may have got lost")
            let left = try await api.get("/v1/quarantine").list("data")
            #expect(left.map { $0["source"] as? String } == ["src_2"])
            #expect(try await api.get("/v1/stats").number("quarantined") == 1)
            let all = #"{"q":"state=quarantined"}"#
            let many = try await api.post("/v1/watches/batch/dismiss", all)
            #expect(many.number("done") == 1, "\(many.text)")
            let checks = try await api.get("/v1/doctor").list("checks")
            let check = checks.first { $0["name"] as? String == "quarantine" }
            #expect(check?["message"] as? String == "empty")
            try await api.enqueue("src_3")
            let open = try await api.post("/v1/quarantine/src_3/dismiss")
            #expect(open.status == 409 && open.code == "watch_not_quarantined")
            #expect(try await api.post("/v1/quarantine/src_9/dismiss").code == "watch_not_found")
        }
    }

    @Test("explain returns a watch's place and the reasons why it waits")
    func explain() async throws {
        try await LiveAPI.run { api in
            try await api.announce("worker", host: "one")
            try await api.enqueue("src_1")
            _ = try await api.post("/v1/lanes/default/sources/pause")
            let waiting = try await api.get("/v1/watches/src_1/explain")
            #expect(waiting.status == 200)
            #expect(waiting["place"] == "waiting")
            #expect(waiting.number("ahead") == 0)
            #expect(waiting.json["earliest_poll_at"] is NSNull, "only a person can tell")
            let reasons = try #require(waiting.json["reasons"] as? [String])
            #expect(reasons.first?.contains("paused") == true)
            let lane = try #require(waiting.json["lane"] as? [String: Any])
            #expect(lane["id"] as? String == "default/sources")
            #expect(lane["state"] as? String == "paused")

            _ = try await api.post("/v1/lanes/default/sources/resume")
            let due = try await api.get("/v1/watches/src_1/explain")
            #expect(due["earliest_poll_at"] != nil)
            try await api.see("src_1", "consumed", final: true)
            let closed = try await api.get("/v1/watches/src_1/explain")
            #expect(closed["place"] == "closed")
            #expect(closed["closed_reason"] == "settled")
            #expect(try await api.get("/v1/watches/src_9/explain").code == "watch_not_found")
        }
    }

    @Test("the error of an invalid filter lists the allowed values")
    func filters() async throws {
        try await LiveAPI.run { api in
            let state = try await api.get("/v1/watches?state=dead")
            #expect(state.status == 400)
            #expect(state["detail"]?.contains("open, closed, quarantined") == true)
            let kind = try await api.get("/v1/quarantine?kind=card")
            #expect(kind["detail"]?.contains("source, payment_intent") == true)
            let status = try await api.get("/v1/watches?status=a%00b")
            #expect(status["detail"]?.contains("control character") == true)
            for types in ["chargeable", "card.*", "source", "*"] {
                let wrong = try await api.get("/v1/events?types=\(types)")
                #expect(wrong.status == 400, "\(types)")
                #expect(wrong["detail"]?.contains("payment_intent.*, ") == true)
            }
            for types in ["source.*", "watch.expired", "payment_intent.succeeded,source.failed"] {
                #expect(try await api.get("/v1/events?types=\(types)").status == 200)
            }
            let unknown = try await api.get("/v1/quarantine?state=open")
            #expect(unknown.code == "unknown_parameter")
            #expect(
                unknown["detail"]?.contains("status, payment, account, kind, limit, cursor") == true
            )
        }
    }
}
