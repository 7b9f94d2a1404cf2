import Foundation
import NIOHTTP1
import PollerIdentity
import PollerWatches
import Testing

@testable import PollerAPI

@Suite("Accounts and their limits over HTTP")
struct AccountRoutesTests {
    private static let limits = AccountLimits(
        standard: AccountLimit(watches: 3, endpoints: 2),
        individual: [AccountID(unchecked: "free"): .none]
    )

    @Test("at its limit, an account cannot start a watch but can enqueue open ones again")
    func watches() async throws {
        try await LiveAPI.run(limits: Self.limits) { api in
            for number in 0..<3 { try await api.enqueue("src_\(number)") }
            let refused = try await api.post("/v1/watches", #"{"source":"src_3"}"#)
            #expect(refused.status == 429 && refused.code == "too_many_watches", "\(refused.text)")
            #expect(refused.headers.first(name: "Retry-After") == "60")
            #expect(refused["field"] == "account")
            for part in [
                "default has 3 of at most 3 open watches", "would add 1",
                "POLLER_WATCHES_PER_ACCOUNT",
            ] {
                #expect(refused["detail"]?.contains(part) == true, "\(refused.text)")
            }
            #expect(try await api.get("/v1/watches/src_3").status == 404)
            let joined = try await api.post("/v1/watches", #"{"source":"src_0"}"#)
            #expect(joined.status == 200 && joined["outcome"] == "joined", "\(joined.text)")
            let other = try await api.post("/v1/watches", #"{"source":"src_3","account":"b"}"#)
            #expect(other.status == 201, "another account has its own")
            let free = (0..<9).map { #"{"source":"src_\#($0)","account":"free"}"# }
            let batch = "[\(free.joined(separator: ","))]"
            #expect(try await api.post("/v1/watches/batch", batch).status == 200)
            _ = try await api.request(.DELETE, "/v1/watches/src_0")
            #expect(try await api.post("/v1/watches", #"{"source":"src_3"}"#).status == 201)
        }
    }

    @Test("a batch over the limit enqueues nothing, and a repeated batch joins its watches")
    func batches() async throws {
        try await LiveAPI.run(limits: Self.limits) { api in
            func batch(_ numbers: Range<Int>) async throws -> Answer {
                let watches = numbers.map { #"{"source":"src_\#($0)"}"# }
                return try await api.post(
                    "/v1/watches/batch",
                    "[\(watches.joined(separator: ","))]"
                )
            }
            let whole = try await batch(0..<4)
            #expect(whole.status == 429 && whole.code == "too_many_watches", "\(whole.text)")
            #expect(try await api.get("/v1/watches/src_0").status == 404)
            for outcome in ["created", "joined"] {
                let answer = try await batch(0..<3)
                #expect(answer.status == 200 && answer.number(outcome) == 3, "\(answer.text)")
            }
            #expect(try await batch(2..<4).status == 429)
        }
    }

    @Test("at its endpoint limit, an account gets a 409 until an endpoint is deleted")
    func endpoints() async throws {
        try await LiveAPI.run(limits: Self.limits) { api in
            func add(_ account: String) async throws -> Answer {
                let body = #"{"url":"https://a.example/hook","account":"\#(account)"}"#
                return try await api.post("/v1/endpoints", body)
            }
            var made: [String] = []
            for _ in 0..<2 {
                let answer = try await add("shop")
                #expect(answer.status == 201, "\(answer.text)")
                made.append(answer["id"] ?? "")
            }
            let refused = try await add("shop")
            #expect(refused.status == 409 && refused.code == "too_many_endpoints")
            #expect(refused.headers.first(name: "Retry-After") == nil)
            #expect(refused["detail"]?.contains("2 endpoints") == true)
            #expect(try await add("other").status == 201)
            for _ in 0..<3 { #expect(try await add("free").status == 201) }
            #expect(try await api.request(.DELETE, "/v1/endpoints/\(made[0])").status == 200)
            #expect(try await add("shop").status == 201)
        }
    }

    @Test("accounts are listed with usage and limits, and a bound key sees only its own")
    func list() async throws {
        let keys = try KeyFile(
            text: """
                key-of-everything-0123456789
                key-of-shop-0123456789 role=viewer account=shop,new
                """
        )
        try await LiveAPI.run(keys: keys, limits: Self.limits) { api in
            let all = ["Authorization": "Bearer key-of-everything-0123456789"]
            for (source, account) in [("src_1", "shop"), ("pi_1", "shop"), ("src_1", "free")] {
                let body = #"{"source":"\#(source)","account":"\#(account)"}"#
                let made = try await api.request(.POST, "/v1/watches", body: body, headers: all)
                #expect(made.status == 201, "\(made.text)")
            }
            let hook = #"{"url":"https://a.example/hook","account":"shop"}"#
            _ = try await api.request(.POST, "/v1/endpoints", body: hook, headers: all)
            _ = try await api.request(.DELETE, "/v1/watches/src_1?account=free", headers: all)

            let first = try await api.get("/v1/accounts?limit=1", headers: all)
            #expect(first.list("data").count == 1 && first.json["has_more"] as? Bool == true)
            let free = try #require(first.list("data").first)
            #expect(free["id"] as? String == "free" && free["open"] as? Int == 0)
            #expect(free["open_max"] is NSNull && free["endpoints_max"] is NSNull)
            let next = try #require(first["next"])
            let second = try await api.get("/v1/accounts?cursor=\(next)", headers: all)
            let shop = try #require(second.list("data").first)
            #expect(shop["id"] as? String == "shop" && shop["open"] as? Int == 2)
            #expect(shop["open_max"] as? Int == 3 && shop["endpoints"] as? Int == 1)
            #expect(shop["endpoints_max"] as? Int == 2)
            #expect(second.json["has_more"] as? Bool == false)

            let bound = try await api.get(
                "/v1/accounts",
                headers: ["Authorization": "Bearer key-of-shop-0123456789"]
            )
            #expect(bound.list("data").map { $0["id"] as? String } == ["new", "shop"])
            #expect(bound.list("data").map { $0["open"] as? Int } == [0, 2])
            let part = try await api.get(
                "/v1/accounts?limit=1",
                headers: ["Authorization": "Bearer key-of-shop-0123456789"]
            )
            let rest = try await api.get(
                "/v1/accounts?limit=1&cursor=\(try #require(part["next"]))",
                headers: ["Authorization": "Bearer key-of-shop-0123456789"]
            )
            #expect(rest.list("data").map { $0["id"] as? String } == ["shop"])
            #expect(rest["next"] == nil)
        }
    }
}
