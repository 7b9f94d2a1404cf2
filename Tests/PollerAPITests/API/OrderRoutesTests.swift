import Foundation
import NIOHTTP1
import PollerIdentity
import PollerTesting
import PollerWire
import Testing

@testable import PollerAPI

@Suite("Orders")
struct OrderRoutesTests {
    @Test("an order exists from the first watch that names it, and lists its watches")
    func reads() async throws {
        try await LiveAPI.run { api in
            let missing = try await api.get("/v1/orders/A77")
            #expect(missing.status == 404 && missing.code == "order_not_found")
            for source in ["src_1", "src_2"] {
                let body = #"{"source":"\#(source)","order":"A77"}"#
                let made = try await api.post("/v1/watches", body)
                #expect(made.status == 201 && made["order"] == "A77")
            }
            let order = try await api.get("/v1/orders/A77")
            #expect(order.status == 200 && order["order"] == "A77")
            let payment = order.json["payment"] as? [String: Any]
            #expect(payment?["state"] as? String == "awaiting_customer")
            let members = order.json["members"] as? [[String: Any]]
            #expect(members?.compactMap { $0["source"] as? String } == ["src_1", "src_2"])
            let events = try await api.get("/v1/orders/A77/events")
            #expect(events.status == 200 && (events.json["data"] as? [Any])?.isEmpty == true)
            #expect(try await api.get("/v1/orders/B78/events").code == "order_not_found")
            #expect(try await api.get("/v1/orders/A77?account=other").status == 404)
            let elsewhere = #"{"source":"src_1","account":"other","order":"A77"}"#
            #expect(try await api.post("/v1/watches", elsewhere).status == 201)
            let other = try await api.get("/v1/orders/A77?account=other")
            #expect((other.json["members"] as? [Any])?.count == 1)
        }
    }

    @Test(
        "an order is found by any printable name, percent-encoded in the path",
        arguments: [
            "#1001", "2026/000123", "№ 5", "Bestellung 7/ä", "A+B", "100%", "wc_order_1&key=x",
            "a?b",
            "../etc", "order:7", "%2F", "O'Brien 3", "注文 12", "🛒 7",
        ]
    )
    func names(_ name: String) async throws {
        let unreserved = CharacterSet(charactersIn: Unicode.Scalar("A")...Unicode.Scalar("Z"))
            .union(CharacterSet(charactersIn: Unicode.Scalar("a")...Unicode.Scalar("z")))
            .union(CharacterSet(charactersIn: "0123456789-._~"))
        let encoded = try #require(name.addingPercentEncoding(withAllowedCharacters: unreserved))
        try await LiveAPI.run { api in
            let body = try JSONSerialization.data(
                withJSONObject: ["source": "src_1", "order": name]
            )
            let made = try await api.post("/v1/watches", String(decoding: body, as: UTF8.self))
            #expect(made.status == 201 && made["order"] == name)
            _ = try await api.post("/v1/watches", #"{"source":"src_2","order":"other"}"#)
            let order = try await api.get("/v1/orders/\(encoded)")
            #expect(order.status == 200 && order["order"] == name)
            let events = try await api.get("/v1/orders/\(encoded)/events")
            #expect(events.status == 200)
            let listed = try await api.get("/v1/orders").list("data")
            #expect(listed.contains { $0["order"] as? String == name })
            for query in ["order=\"\(name)\"", "\"\(name)\""] {
                let q = try #require(query.addingPercentEncoding(withAllowedCharacters: unreserved))
                let found = try await api.get("/v1/watches?q=\(q)").list("data")
                #expect(found.compactMap { $0["source"] as? String } == ["src_1"], "\(query)")
            }
        }
    }

    @Test("the described pattern matches exactly the accepted names")
    func described() throws {
        let pattern = try NSRegularExpression(pattern: OrderNames.pattern)
        func isDescribed(_ name: String) -> Bool {
            let whole = NSRange(name.startIndex..., in: name)
            return pattern.firstMatch(in: name, range: whole)?.range == whole
        }
        let names = [
            "A77", "#1001", "№ 5", "...", "a\u{200C}b", "🛒", String(repeating: "x", count: 255),
            "", " ", " 5", "5\u{3000}", ".", "..", "a\nb", "a\u{85}b", "a\u{202E}b", "\u{FEFF}a",
            String(repeating: "x", count: 256),
        ]
        for name in names {
            let isTaken = (try? OrderID(name)) != nil
            #expect(isDescribed(name) == isTaken, "\(name.debugDescription)")
        }
        for scalar in (0...0x3100).compactMap(Unicode.Scalar.init(_:)) {
            let name = "a\(String(scalar))b"
            let isTaken = (try? OrderID(name)) != nil
            #expect(isDescribed(name) == isTaken, "U+\(scalar.value)")
            let edge = String(scalar)
            let isEdge = (try? OrderID(edge)) != nil
            #expect(isDescribed(edge) == isEdge, "U+\(scalar.value) alone")
        }
    }

    @Test("a watch of one order is not joined for another order until the watch has ended")
    func mismatch() async throws {
        try await LiveAPI.run { api in
            func enqueue(_ order: String?, metadata: String = "") async throws -> Answer {
                let named = order.map { #","order":"\#($0)""# } ?? ""
                let body = #"{"source":"src_1"\#(named)\#(metadata)}"#
                return try await api.post("/v1/watches", body)
            }
            #expect(try await enqueue(nil).status == 201)
            // The first order named applies, also to later requests without one.
            #expect(try await enqueue("A77").status == 200)
            for order in ["A77", nil] { #expect(try await enqueue(order)["order"] == "A77") }
            let other = try await enqueue("A78", metadata: #","metadata":{"a":"b"}"#)
            #expect(other.status == 409 && other.code == "order_mismatch")
            #expect(other["detail"]?.contains("A77") == true && other["field"] == "order")
            let batch = #"[{"source":"src_2","order":"A78"},{"source":"src_1","order":"A78"}]"#
            #expect(try await api.post("/v1/watches/batch", batch).code == "order_mismatch")
            #expect(try await api.get("/v1/watches/src_2").status == 404)
            // Two orders for a source without a watch.
            let twice = #"[{"source":"src_3","order":"A1"},{"source":"src_3","order":"A2"}]"#
            #expect(try await api.post("/v1/watches/batch", twice).code == "order_mismatch")
            #expect(try await api.get("/v1/watches/src_3").status == 404)
            let watch = try await api.get("/v1/watches/src_1")
            #expect(watch["order"] == "A77")
            #expect(watch.json["metadata"] as? [String: String] != ["a": "b"])
            #expect(try await api.get("/v1/orders/A78").status == 404)
            #expect(try await api.request(.DELETE, "/v1/watches/src_1").status == 200)
            let again = try await enqueue("A78")
            #expect(again.status == 201 && again["order"] == "A78")
        }
    }

    @Test("orders are listed page by page, and are not listed as watches")
    func lists() async throws {
        try await LiveAPI.run { api in
            let lines = (1...5).map { #"{"source":"src_\#($0)","order":"A\#($0)"}"# }
            let made = try await api.post("/v1/watches/batch", "[\(lines.joined(separator: ","))]")
            #expect(made.status == 200)
            var names: [String] = []
            var path = "/v1/orders?limit=2"
            for _ in 0..<5 {
                let page = try await api.get(path)
                let data = page.json["data"] as? [[String: Any]] ?? []
                names += data.compactMap { $0["order"] as? String }
                guard let next = page["next"] else { break }
                path = "/v1/orders?limit=2&cursor=\(next.replacing("|", with: "%7C"))"
            }
            #expect(Set(names) == ["A1", "A2", "A3", "A4", "A5"] && names.count == 5)
            let paid = try await api.get("/v1/orders?state=paid")
            #expect((paid.json["data"] as? [Any])?.isEmpty == true)
            #expect(try await api.get("/v1/orders?state=rich").status == 400)
            let watches = try await api.get("/v1/watches")
            #expect((watches.json["data"] as? [Any])?.count == 5)
        }
    }

    @Test(
        "an invalid name is rejected with its field",
        arguments: ["", " a", "a\\n", "..", "\u{202E}a"]
    )
    func refused(_ name: String) async throws {
        try await LiveAPI.run { api in
            let answer = try await api.post(
                "/v1/watches",
                #"{"source":"src_1","order":"\#(name)"}"#
            )
            #expect(answer.status == 400 || answer.status == 422)
            #expect(answer["field"] == "order")
        }
    }
}
