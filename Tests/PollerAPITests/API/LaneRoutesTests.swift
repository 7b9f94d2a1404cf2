import Foundation
import NIOHTTP1
import PollerIdentity
import PollerQueue
import PollerTesting
import Testing

@testable import PollerAPI

@Suite("Lanes over HTTP")
struct LaneRoutesTests {
    @Test("the list shows restricted lanes first, and the limit of each lane")
    func worstFirst() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.see("src_1", "pending")
            _ = try await api.post("/v1/watches", #"{"source":"pi_1","account":"acct_b"}"#)
            _ = try await api.post("/v1/watches", #"{"source":"src_2","account":"acct_a"}"#)
            #expect(try await api.post("/v1/lanes/acct_a/sources/pause").status == 200)
            try await eventually("acct_a is overdue") {
                try await api.get("/v1/lanes/acct_a/sources").number("overdue_ms") ?? 0 > 0
            }
            let page = try await api.get("/v1/lanes")
            #expect(page.status == 200)
            #expect(page.json["has_more"] as? Bool == false)
            let lanes = page.list("data")
            #expect(lanes.first?["id"] as? String == "acct_a/sources")
            #expect(lanes.first?["state"] as? String == "paused")
            #expect(lanes.first?["paused"] as? Bool == true)
            #expect(lanes.count == 3)
            let other = try #require(
                lanes.first { $0["id"] as? String == "acct_b/payment_intents" }
            )
            #expect(other["state"] as? String == "flowing")
            #expect(other["waiting"] as? Int == 1)
            #expect(other["circuit"] as? String == "closed")
            #expect(other["factor"] as? Double == 1)
            let limit = try #require(other["limit"] as? [String: Any])
            #expect(limit["rate"] as? Double == 20)
            #expect(limit["concurrency"] as? Int == 20)
            #expect(limit["default"] as? Bool == true)
        }
    }

    @Test("pages of one lane list each lane once, in the list's order")
    func pages() async throws {
        try await LiveAPI.run { api in
            for account in 0..<9 {
                _ = try await api.post(
                    "/v1/watches",
                    #"{"source":"src_1","account":"a\#(account)"}"#
                )
            }
            _ = try await api.post("/v1/lanes/a4/sources/pause")
            try await eventually("all are overdue") {
                let lanes = try await api.get("/v1/lanes").list("data")
                return lanes.allSatisfy { $0["overdue_ms"] as? Int ?? 0 > 0 }
            }
            let whole = try await api.get("/v1/lanes").list("data").map { $0["id"] as? String }
            var seen: [String?] = []
            var path = "/v1/lanes?limit=1"
            while seen.count < 20 {
                let page = try await api.get(path)
                seen += page.list("data").map { $0["id"] as? String }
                guard let next = page["next"] else { break }
                path = "/v1/lanes?limit=1&cursor=\(next)"
            }
            #expect(whole.first == "a4/sources")
            #expect(seen == whole)
            #expect(seen.count == 9)
        }
    }

    @Test("a lane is addressed by two segments or by one with `%2F`")
    func names() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            for path in ["default/sources", "default%2Fsources", "default%2fsources"] {
                let lane = try await api.get("/v1/lanes/\(path)")
                #expect(lane.status == 200, "\(path)")
                #expect(lane["id"] == "default/sources")
                #expect(try await api.post("/v1/lanes/\(path)/pause")["state"] == "paused")
                #expect(try await api.post("/v1/lanes/\(path)/resume")["state"] == "flowing")
            }
            let wrong = try await api.request(.DELETE, "/v1/lanes/default/sources")
            #expect(wrong.status == 405)
            #expect(wrong.headers.first(name: "Allow") == "GET, HEAD")
            #expect(try await api.get("/v1/lanes/default/sources/pause").status == 405)
        }
    }

    @Test(
        "an invalid lane name is rejected",
        arguments: ["default", "default/tokens", "a%20b/sources", "/sources", "x/y/sources"]
    )
    func wrongNames(name: String) async throws {
        try await LiveAPI.run { api in
            let answer = try await api.post("/v1/lanes/\(name)/pause")
            if answer.status == 404 {
                #expect(answer.code == "not_found")
            } else {
                #expect(answer.status == 400)
                #expect(answer.code == "invalid_parameter")
            }
            #expect(try await api.get("/v1/lanes").list("data").isEmpty)
        }
    }

    @Test("an empty lane is not found, but can be paused before its first watch")
    func emptyLane() async throws {
        try await LiveAPI.run { api in
            let none = try await api.get("/v1/lanes/acct_new/sources")
            #expect(none.status == 404)
            #expect(none.code == "lane_not_found")
            let paused = try await api.post("/v1/lanes/acct_new/sources/pause")
            #expect(paused.status == 200)
            #expect(paused["state"] == "paused")
            _ = try await api.post("/v1/watches", #"{"source":"src_1","account":"acct_new"}"#)
            #expect(try await api.claimable() == 0)
            let resumed = try await api.post("/v1/lanes/acct_new/sources/resume")
            #expect(resumed["state"] == "flowing")
            try await api.see("src_1", "pending")
        }
    }

    @Test("a limit changes only the named fields, and can be reset to the default")
    func limits() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            let path = "/v1/lanes/default/sources/limit"
            let own = try await api.post(path, #"{"rate":2.5,"concurrency":3}"#)
            #expect(own.status == 200, "\(own.text)")
            var limit = try #require(own.json["limit"] as? [String: Any])
            #expect(limit["rate"] as? Double == 2.5)
            #expect(limit["burst"] as? Int == 5, "the default's burst stays")
            #expect(limit["concurrency"] as? Int == 3)
            #expect(limit["default"] as? Bool == false)
            let burst = try await api.post(path, #"{"burst":1}"#)
            limit = try #require(burst.json["limit"] as? [String: Any])
            #expect(limit["rate"] as? Double == 2.5, "its own rate stays")
            #expect(limit["burst"] as? Int == 1)
            let lane = LaneID(account: .main, kind: .source)
            #expect(
                try await api.store.lane(lane)?.limit
                    == LaneLimit(ratePerSecond: 2.5, burst: 1, inFlightMax: 3)
            )
            let back = try await api.post(path, #"{"default":true}"#)
            #expect((back.json["limit"] as? [String: Any])?["default"] as? Bool == true)
            #expect(try await api.store.lane(lane)?.limit == nil)
        }
    }

    @Test(
        "an invalid limit is rejected with its code and field",
        arguments: [
            (#"{}"#, "missing_field", "rate"),
            (#"{"rate":"20"}"#, "wrong_type", "rate"),
            (#"{"rate":-1}"#, "invalid_value", "rate"),
            (#"{"rate":1e400}"#, "invalid_value", "rate"),
            (#"{"burst":1.5}"#, "invalid_value", "burst"),
            (#"{"burst":0}"#, "invalid_value", "burst"),
            (#"{"concurrency":99999999999999999999}"#, "invalid_value", "concurrency"),
            (#"{"speed":1}"#, "unknown_field", "speed"),
            (#"{"default":true,"rate":1}"#, "invalid_value", "default"),
            (#"{"default":"yes"}"#, "wrong_type", "default"),
            (#"{"default":false}"#, "missing_field", "rate"),
        ]
    )
    func wrongLimits(body: String, code: String, field: String) async throws {
        try await LiveAPI.run { api in
            let answer = try await api.post("/v1/lanes/default/sources/limit", body)
            #expect(answer.code == code, "\(answer.text)")
            #expect(answer["field"] == field)
            #expect(try await api.store.lane(LaneID(account: .main, kind: .source)) == nil)
        }
    }

    @Test("an invalid cursor is rejected")
    func wrongCursor() async throws {
        try await LiveAPI.run { api in
            for cursor in ["x", "MTpyOngKeQ", "..", LaneCursor.store("\u{0}").text] {
                let answer = try await api.get("/v1/lanes?cursor=\(cursor)")
                #expect(answer.status == 400 || answer.status == 422, "\(cursor): \(answer.text)")
            }
            let wide = try await api.get("/v1/lanes?limit=501")
            #expect(wide["detail"]?.contains("1 to 500") == true)
        }
    }
}
