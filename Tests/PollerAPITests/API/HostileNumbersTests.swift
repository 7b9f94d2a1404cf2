import HTTPTypes
import NIOHTTP1
import PollerIdentity
import PollerTesting
import Testing

@testable import PollerAPI

@Suite("Extreme numbers in requests")
struct HostileNumbersTests {
    private func path(_ route: RouteDescription) -> String {
        route.path.replacing("{lane}", with: "default/source").split(separator: "/").map {
            segment in
            segment.hasPrefix("{") ? "src_1" : String(segment)
        }.reduce("") { $0 + "/" + $1 }
    }

    private func send(
        _ api: LiveAPI,
        _ route: RouteDescription,
        query: String = "",
        body: String? = nil
    ) async throws -> Answer {
        try await api.request(
            HTTPMethod(rawValue: route.methodName),
            path(route) + query,
            body: body,
            headers: body == nil ? [:] : ["Content-Type": "application/json"]
        )
    }

    @Test("no number in a request body causes a server error")
    func bodies() async throws {
        let schemas = SchemaDocument(
            components: try #require(JSONTree(Schemas.all(withPages: true).text))
        )
        try await LiveAPI.run { api in
            var count = 0
            for route in api.routes {
                let content = route.body?.content.first { $0.type == "application/json" }
                guard let content, let schema = JSONTree(content.schema.text) else { continue }
                let document = schemas.document(of: schema)
                let changes =
                    HostileNumbers.changes(of: document)
                    + HostileNumbers.numbersForTexts(in: document)
                for change in changes {
                    let answer = try await send(api, route, body: change.document.json)
                    #expect(answer.status < 500, "\(route.line): \(change.name): \(answer.text)")
                    count += 1
                }
            }
            #expect(count > 300)
        }
    }

    @Test("no number in a numeric parameter causes a server error")
    func parameters() async throws {
        try await LiveAPI.run { api in
            var count = 0
            for route in api.routes where route.method == .get {
                for parameter in route.parameters where parameter.location == .query {
                    guard case .text("integer")? = JSONTree(parameter.schema.text)?["type"] else {
                        continue
                    }
                    for value in HostileNumbers.numbers {
                        let query = "?\(parameter.name)=\(value.json)"
                        let answer = try await send(api, route, query: query)
                        #expect(answer.status < 500, "\(route.line)\(query): \(answer.text)")
                        count += 1
                    }
                }
            }
            #expect(count > 100)
        }
    }

    @Test(
        "a restore rejects amounts out of range, and accepts the largest one and extreme memory",
        arguments: ["9223372036854775807", "-9223372036854775808", "9007199254740993", "-1"]
    )
    func restored(number: String) async throws {
        let memory =
            "||9d2k1a|k3f9a2||1y2p0ij32e8e7|-1y2p0ij32e8e8|o|zzzzzzzzzzzzz|zzzzzzzzzzzzz||zzz"
        func line(_ sum: String) -> String {
            let payment =
                #"{"state":"paid","amount":\#(sum),"amount_received":\#(sum),"#
                + #""amount_returned":\#(sum),"currency":"eur"}"#
            return Archive.line("src_1", more: #","memory":"\#(memory)""#).replacing(
                #""object":null"#,
                with: #""payment":\#(payment),"object":{"amount":\#(sum),"currency":"eur"}"#
            )
        }
        try await LiveAPI.run { api in
            let answer = try await api.post(
                "/v1/watches/batch/restore?trust=true",
                line(number),
                type: "application/x-ndjson"
            )
            // An archive with an impossible amount is rejected, with its location.
            #expect(
                answer.status == 422 && answer.text.contains("events[0]"),
                "\(answer.text)"
            )
            let fitting = line("9007199254740991")
            let taken = try await api.post(
                "/v1/watches/batch/restore?trust=true",
                fitting,
                type: "application/x-ndjson"
            )
            #expect(taken.status == 200, "\(taken.text)")
            for path in ["", "/events", "/timeline"] {
                #expect(try await api.get("/v1/watches/src_1" + path).status == 200)
            }
            #expect(try await api.get("/v1/watches?q=amount%3D9007199254740991").status == 200)
            #expect(try await api.post("/v1/watches/src_1/poll").status < 500)
        }
    }
}
