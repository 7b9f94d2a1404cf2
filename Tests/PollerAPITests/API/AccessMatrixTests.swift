import Foundation
import NIOHTTP1
import PollerIdentity
import PollerOperations
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI
@testable import PollerDeliveries

/// Every operation with every role, on own and foreign objects.
///
/// The cases are generated from the existing routes.
@Suite("Access by role and account", .timeLimit(.minutes(5)))
struct AccessMatrixTests {
    private static func key(_ role: KeyRole) -> String { "key-of-\(role.rawValue)-0123456789" }

    @Test("each role may use the routes of its scopes, and a 403 names the missing scope")
    func roles() async throws {
        let lines = KeyRole.allCases.map { "\(Self.key($0)) role=\($0.rawValue)" }
        try await LiveAPI.run(keys: KeyFile(text: lines.joined(separator: "\n"))) { api in
            for route in api.routes {
                guard let scope = route.access.scope else { continue }
                for role in KeyRole.allCases {
                    let answer = try await api.request(
                        HTTPMethod(rawValue: route.methodName),
                        ForeignObjects.path(route, [:]),
                        body: route.body == nil ? nil : "{}",
                        headers: bearer(Self.key(role))
                    )
                    let isRefused = answer.status == 403 && answer.code == "not_allowed"
                    #expect(
                        isRefused == !role.scopes.contains(scope),
                        "\(role) \(route.operation): \(answer.text)"
                    )
                    #expect(answer.status != 401 && answer.status < 500, "\(answer.text)")
                    if isRefused { #expect(answer.text.contains(scope.rawValue)) }
                }
            }
        }
    }

    @Test("charging and capturing need `payments:charge`, alone and in a batch")
    func charging() async throws {
        let lines = "\(Self.key(.operator)) role=operator\n\(Self.key(.admin)) role=admin"
        try await LiveAPI.run(keys: KeyFile(text: lines)) { api in
            for requestBody in [#""charge":{}"#, #""authorisation":"capture""#] {
                let body = #"{"source":"src_1",\#(requestBody)}"#
                for (path, body) in [("/v1/watches", body), ("/v1/watches/batch", "[\(body)]")] {
                    let refused = try await api.request(
                        .POST,
                        path,
                        body: body,
                        headers: bearer(Self.key(.operator))
                    )
                    #expect(refused.status == 403, "\(refused.text)")
                    #expect(refused.text.contains("payments:charge"))
                }
            }
            let leave = try await api.request(
                .POST,
                "/v1/watches",
                body: #"{"source":"src_1","authorisation":"leave"}"#,
                headers: bearer(Self.key(.operator))
            )
            #expect(leave.status == 201, "\(leave.text)")
        }
    }

    @Test("for a bound key, objects of other accounts respond like missing ones and stay unchanged")
    func accounts() async throws {
        let line = "\(Self.key(.admin)) role=admin account=acme"
        try await LiveAPI.run(keys: KeyFile(text: "\(line)\nkey-of-everything-0123456789")) { api in
            let foreignObjects = try await ForeignObjects(
                api,
                headers: bearer("key-of-everything-0123456789")
            )
            let before = try await foreignObjects.state()
            let asked = bearer(Self.key(.admin))
            let conditions = ["If-None-Match": "*", "If-Match": "*", "Idempotency-Key": "matrix"]
            for route in api.routes where route.access.scope != nil {
                for (named, more) in [
                    (foreignObjects.account, [:]), (nil, [:]), (foreignObjects.account, conditions),
                ] {
                    let headers = asked.merging(more) { $1 }
                    let there = try await foreignObjects.ask(
                        route,
                        foreignObjects.names,
                        named,
                        headers
                    )
                    let missing = try await foreignObjects.ask(
                        route,
                        foreignObjects.missing,
                        named,
                        headers
                    )
                    #expect(there.status == missing.status, "\(route.operation): \(there.text)")
                    #expect(
                        foreignObjects.neutral(there.text) == foreignObjects.neutral(missing.text),
                        "\(route.operation)"
                    )
                    let hasName = route.path.contains("{")
                    for trace in foreignObjects.traces where !hasName {
                        #expect(!there.text.contains(trace), "\(route.operation) tells \(trace)")
                    }
                }
            }
            let after = try await foreignObjects.state()
            for (before, after) in zip(before, after) { #expect(before == after) }
        }
    }

    @Test("an idempotency key of one API key replays no response to another key, on every route")
    func names() async throws {
        let lines = """
            \(Self.key(.admin)) role=admin name=shop
            \(Self.key(.operator)) role=admin name=shop account=default
            """
        try await LiveAPI.run(keys: KeyFile(text: lines)) { api in
            let made = try await api.request(
                .POST,
                "/v1/endpoints",
                body: #"{"url":"https://f.example/hook"}"#,
                headers: bearer(Self.key(.admin))
            )
            let names = ["{endpoint}": try #require(made.json["id"] as? String, "\(made.text)")]
            var kept = 0
            for route in api.routes where route.access.scope != nil {
                guard case .kept = route.idempotency else { continue }
                var replays: [Bool] = []
                for key in [KeyRole.admin, .admin, .operator] {
                    let answer = try await api.request(
                        HTTPMethod(rawValue: route.methodName),
                        ForeignObjects.path(route, names),
                        body: ForeignObjects.requestBody(of: route),
                        headers: bearer(Self.key(key)).merging(["Idempotency-Key": "n"]) {
                            $1
                        }
                    )
                    // A replay is still running when another key requests one.
                    #expect(
                        answer.status < 300 || key == .operator,
                        "\(route.operation): \(answer.text)"
                    )
                    replays.append(answer.headers.contains(name: "Idempotent-Replayed"))
                }
                #expect(replays == [false, true, false], "\(route.operation)")
                kept += 1
            }
            #expect(kept == 9)
        }
    }

    @Test(
        "cursors of a bound key page over its account, hide other accounts and fail with other keys"
    )
    func cursors() async throws {
        let lines = """
            \(Self.key(.admin)) role=admin account=acme
            \(Self.key(.viewer)) role=viewer account=other
            key-of-everything-0123456789
            """
        try await LiveAPI.run(keys: KeyFile(text: lines)) { api in
            let all = bearer("key-of-everything-0123456789")
            for number in 0..<12 {
                let account = number % 3 == 0 ? "acme" : "foreign"
                let body = #"{"source":"src_\#(account)\#(number)","account":"\#(account)"}"#
                let made = try await api.request(.POST, "/v1/watches", body: body, headers: all)
                #expect(made.status == 201, "\(made.text)")
            }
            var found: [String] = []
            var path = "/v1/watches?limit=1"
            var first: String?
            repeat {
                let page = try await api.get(path, headers: bearer(Self.key(.admin)))
                #expect(page.status == 200, "\(page.text)")
                found += page.list("data").compactMap { $0["source"] as? String }
                guard let next = page["next"] else { break }
                first = first ?? next
                let bytes = try #require(Base64URL.decode(next))
                #expect(!String(decoding: bytes, as: UTF8.self).contains("foreign"))
                path = "/v1/watches?limit=1&cursor=\(next)"
            } while found.count < 20
            #expect(Set(found) == ["src_acme0", "src_acme3", "src_acme6", "src_acme9"])
            let cursor = try #require(first)
            let stranger = try await api.get(
                "/v1/watches?limit=1&cursor=\(cursor)",
                headers: bearer(Self.key(.viewer))
            )
            #expect(stranger.status == 400, "\(stranger.text)")
        }
    }
}

/// One object of each kind in an account that a key is not bound to, and names of missing objects.
private struct ForeignObjects {
    let account = "foreign"
    let names: [String: String]
    let missing = [
        "{source}": "src_N", "{order}": "N-1", "{endpoint}": "ep_NNNNNNNNNNNNNNNN",
        "{lane}": "foreign/payment_intents", "{delivery}": "dlv_0_NNNNNNNNNNNN",
        "{recipient}": "n@b.example", "{key}": "key_NNNNNNNNNNNN",
        "{entry}": "outbox:0:1-0", "{suppression}": "NNNNNNNNNNNN", "{seq}": "9",
    ]
    private let api: LiveAPI
    private let headers: [String: String]

    init(_ api: LiveAPI, headers: [String: String]) async throws {
        self.api = api
        self.headers = headers
        var names = ["{source}": "src_F", "{order}": "F-1", "{lane}": "foreign/sources"]
        let watch = #"{"source":"src_F","account":"foreign","order":"F-1"}"#
        let watched = try await api.request(.POST, "/v1/watches", body: watch, headers: headers)
        #expect(watched.status == 201, "\(watched.text)")
        let hook = #"{"url":"https://f.example/hook","account":"foreign"}"#
        let endpoint = try await api.request(.POST, "/v1/endpoints", body: hook, headers: headers)
        names["{endpoint}"] = try #require(endpoint.json["id"] as? String, "\(endpoint.text)")
        let requestBody = #"{"role":"admin","accounts":["foreign"]}"#
        let key = try await api.request(.POST, "/v1/keys", body: requestBody, headers: headers)
        names["{key}"] = try #require(key.json["id"] as? String, "\(key.text)")
        let mark = DeliveryMark(
            endpoint: EndpointID(unchecked: try #require(names["{endpoint}"])),
            watch: WatchKey("src_F", of: AccountID(unchecked: "foreign"))
        )
        try await api.backend.deliveries.mark([mark])
        let id = api.backend.deliveries.id(of: mark.endpoint, mark.watch)
        names["{delivery}"] = id.description
        names["{recipient}"] = "f@b.example"
        let zero = Timestamp(ms: 0)
        let suspect = Suspect(
            .hint,
            partition: 0,
            name: "evt_F",
            account: mark.watch.account,
            about: "src_F"
        )
        let entry = SetAsideEntry(suspect, deaths: 3, firstAt: zero, at: zero)
        #expect(try await api.backend.setAside?.setAside(entry) == true)
        names["{entry}"] = entry.id
        self.names = names
    }

    /// Texts that a response may not contain unless the request names them.
    var traces: [String] {
        ["src_F", "F-1", "f.example", "foreign/"]
            + ["{endpoint}", "{delivery}", "{key}"].compactMap { names[$0] }
    }

    static func path(_ route: RouteDescription, _ names: [String: String]) -> String {
        let standard = [
            "{source}": "src_1", "{order}": "O-1", "{endpoint}": "ep_1",
            "{lane}": "default/sources", "{delivery}": "dlv_0_AAAAAAAAAAAA",
            "{recipient}": "a@b.example", "{key}": "key_AAAAAAAAAAAA",
            "{entry}": "outbox:0:2-0", "{suppression}": "AAAAAAAAAAAA", "{seq}": "1",
        ]
        return names.merging(standard) { given, _ in given }.reduce(route.path) {
            $0.replacing($1.key, with: $1.value)
        }
    }

    /// Sends a request to a route about these objects, with their account or without one.
    func ask(
        _ route: RouteDescription,
        _ names: [String: String],
        _ account: String?,
        _ headers: [String: String]
    ) async throws -> Answer {
        var path = Self.path(route, names)
        let takes = Set(route.parameters.filter { $0.location == .query }.map(\.name))
        var query: [String] = []
        if let account, takes.contains("account"), route.operation != "listDeliveries" {
            query.append("account=\(account)")
        }
        if route.operation == "listDeliveries", let endpoint = names["{endpoint}"] {
            query.append("endpoint=\(endpoint)")
        }
        if !query.isEmpty { path += "?" + query.joined(separator: "&") }
        return try await api.request(
            HTTPMethod(rawValue: route.methodName),
            path,
            body: Self.body(of: route, names, account),
            headers: headers
        )
    }

    /// Returns a valid body for a route, for the default account.
    static func requestBody(of route: RouteDescription) -> String {
        switch route.operation {
        case "enqueue": #"{"source":"src_1"}"#
        case "enqueueBatch": #"[{"source":"src_2"}]"#
        case "createEndpoint": #"{"url":"https://n.example"}"#
        case "createKey": #"{"role":"viewer","accounts":["default"]}"#
        case "cancelWatches", "redriveWatches", "dismissWatches": #"{"q":"src_9"}"#
        case "restoreWatches": Archive.line("src_8")
        default: "{}"
        }
    }

    private static func body(
        of route: RouteDescription,
        _ names: [String: String],
        _ account: String?
    ) -> String? {
        guard route.body != nil else { return nil }
        let source = names["{source}"] ?? ""
        let whose = account.map { #","account":"\#($0)""# } ?? ""
        switch route.operation {
        case "enqueue": return account == nil ? "{}" : #"{"source":"\#(source)"\#(whose)}"#
        case "enqueueBatch": return account == nil ? "[]" : #"[{"source":"\#(source)"\#(whose)}]"#
        case "restoreWatches": return Archive.line(source, account: account ?? "default")
        case "createEndpoint":
            return account == nil ? "{}" : #"{"url":"https://n.example"\#(whose)}"#
        case "createStreamToken":
            return account == nil ? "[]" : #"{"sources":["\#(source)"]\#(whose)}"#
        case "createKey":
            return #"{"role":"viewer","accounts":["\#(account ?? "foreign")"]}"#
        case "changeEndpoint": return #"{"coalesce":true}"#
        case "verifyWatch": return #"{"values":["32","45"]}"#
        case "giveRefundAccount": return #"{"holder":"A","iban":"DE89370400440532013000"}"#
        case "limitLane": return #"{"rate":1}"#
        default: return "{}"
        }
    }

    /// Returns the text without the requested names and the request ID.
    func neutral(_ text: String) -> String {
        var text = text
        for name in names.keys {
            for value in [names[name], missing[name]].compactMap(\.self) {
                text = text.replacing(value, with: "NAME")
            }
        }
        return text.replacing(/"request_id":"[^"]*"/, with: "").replacing(
            /"instance":"[^"]*"/,
            with: ""
        )
    }

    /// Returns the state of the objects, as an authorised key reads it.
    func state() async throws -> [String] {
        var seen: [String] = []
        for path in [
            "/v1/watches/src_F?account=foreign", "/v1/endpoints/\(names["{endpoint}"] ?? "")",
            "/v1/deliveries/\(names["{delivery}"] ?? "")", "/v1/lanes/foreign/sources",
            "/v1/orders/F-1?account=foreign", "/v1/keys", "/v1/watches?account=foreign",
            "/v1/endpoints?account=foreign",
        ] {
            let answer = try await api.get(path, headers: headers)
            #expect(answer.status == 200, "\(path): \(answer.text)")
            seen.append(
                answer.text.replacing(/"(server_time|now)":"[^"]*"|"overdue_ms":[0-9]+/, with: "")
            )
        }
        return seen
    }
}
