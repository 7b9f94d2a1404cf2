import NIOHTTP1
import PollerIdentity
import PollerTesting
import Testing

@testable import PollerAPI

@Suite("Late watches over HTTP", .timeLimit(.minutes(5)))
struct LateRoutesTests {
    @Test("late watches are listed with reasons, the latest first")
    func late() async throws {
        try await LiveAPI.run { api in
            _ = try await api.post("/v1/watches", #"{"source":"src_1","order":"A1"}"#)
            _ = try await api.post("/v1/watches", #"{"source":"src_2","account":"acme"}"#)
            #expect(try await api.post("/v1/lanes/default/sources/pause").status == 200)
            try await eventually("both are late") {
                try await api.get("/v1/late?over=1ms").list("data").count == 2
            }
            let answer = try await api.get("/v1/late?over=1ms")
            let rows = answer.list("data")
            #expect(rows.map { $0["source"] as? String } == ["src_1", "src_2"], "\(answer.text)")
            #expect(rows.first?["order"] as? String == "A1")
            #expect(rows.first?["lane"] as? String == "default/sources")
            #expect(rows.first?["late_ms"] as? Int ?? 0 > 0)
            let why = rows.first?["reasons"] as? [String] ?? []
            #expect(why.contains { $0.contains("is paused") }, "\(why)")
            // No worker runs here, which is also a reason.
            #expect(why.contains { $0.contains("no worker is alive") }, "\(why)")
            #expect(answer.json["has_more"] as? Bool == false && answer.number("waiting") == 2)
            let one = try await api.get("/v1/late?over=1ms&limit=1")
            #expect(one.list("data").count == 1 && one.json["has_more"] as? Bool == true)
            let acme = try await api.get("/v1/late?over=1ms&account=acme").list("data")
            #expect(acme.map { $0["source"] as? String } == ["src_2"])
            #expect(try await api.get("/v1/late?over=10m").list("data").isEmpty)
            #expect(try await api.get("/v1/late?over=soon").code == "invalid_parameter")
        }
    }

    @Test("without a minimum delay, a watch is late 3 s after the lease")
    func lease() async throws {
        try await LiveAPI.run(lease: .zero) { api in
            try await api.enqueue("src_1")
            var answer = try await api.get("/v1/late")
            try await eventually("it is late") {
                answer = try await api.get("/v1/late")
                return !answer.list("data").isEmpty
            }
            #expect(answer.list("data").first?["late_ms"] as? Int ?? 0 >= 3000)
        }
    }

    @Test("a watch that has ended is not late")
    func ended() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await eventually("it is late") {
                try await api.get("/v1/late?over=1ms").list("data").count == 1
            }
            #expect(try await api.request(.DELETE, "/v1/watches/src_1").status == 200)
            try await eventually("it is late no longer") {
                try await api.get("/v1/late?over=1ms").list("data").isEmpty
            }
        }
    }

    @Test("a bound key sees only the late watches of its account")
    func bound() async throws {
        let keys = try KeyFile(
            text: "key-of-acme-0123456789 role=viewer account=acme\nkey-of-all-0123456789"
        )
        try await LiveAPI.run(keys: keys) { api in
            let all = [
                "Authorization": "Bearer key-of-all-0123456789", "Content-Type": "application/json",
            ]
            for account in ["default", "acme"] {
                let body = #"{"source":"src_1","account":"\#(account)"}"#
                _ = try await api.request(.POST, "/v1/watches", body: body, headers: all)
            }
            try await eventually("both are late") {
                try await api.get("/v1/late?over=1ms", headers: all).list("data").count == 2
            }
            let acme = try await api.get(
                "/v1/late?over=1ms",
                headers: ["Authorization": "Bearer key-of-acme-0123456789"]
            )
            #expect(acme.list("data").map { $0["account"] as? String } == ["acme"])
            #expect(acme.number("waiting") == 1)
        }
    }
}
