import Foundation
import NIOHTTP1
import PollerIdentity
import PollerTesting
import Testing

@testable import PollerAPI

/// The responses to a bound key, page by page, with and without many objects of other accounts.
///
/// The cases are generated from the existing routes, so that a new route is covered too.
@Suite("Tenant isolation of lists and searches", .timeLimit(.minutes(5)))
struct TenantIsolationTests {
    /// The number of foreign objects: more than a page of events skips, and more than a part of a list.
    private static let othersCount = 60
    /// The maximum pages of one list, fewer than the foreign objects.
    private static let pagesMax = 40
    private static let bound = "key-of-acme-0123456789"
    private static let whole = "key-of-everything-0123456789"
    /// Searches, including those for foreign objects.
    private static let searches = [
        "src_foreign1", "order=F-1", "F-1", "customer=Jane", "amount=1099", "state=open",
        "state=closed", "status!=x", "metadata.colour=red", "src_own",
    ]

    @Test("a bound key's lists, searches, counts and batches do not depend on other accounts")
    func shared() async throws {
        let lines = "\(Self.bound) role=admin account=acme\n\(Self.whole)"
        try await LiveAPI.run(keys: KeyFile(text: lines)) { api in
            for name in ["own1", "own2"] { try await Self.watch(api, name, account: "acme", "O") }
            try await api.see("src_own2", "pending")
            let alone = try await Self.answers(api)
            for number in 0..<Self.othersCount {
                try await Self.watch(api, "foreign\(number)", account: "foreign", "F-\(number)")
                if number % 3 == 0 {
                    try await api.see("src_foreign\(number)", "consumed", final: true)
                } else if number % 3 == 1 {
                    try await api.bury("src_foreign\(number)", because: "no JSON")
                } else {
                    try await api.see("src_foreign\(number)", "pending")
                }
                let hook = #"{"url":"https://f\#(number).example/","account":"foreign"}"#
                let made = try await api.request(
                    .POST,
                    "/v1/endpoints",
                    body: hook,
                    headers: bearer(Self.whole)
                )
                #expect(made.status == 201, "\(made.text)")
            }
            let shared = try await Self.answers(api)
            #expect(alone.count == shared.count)
            for (alone, shared) in zip(alone, shared) {
                #expect(alone.name == shared.name)
                #expect(alone.pages == shared.pages, "\(alone.name)")
            }
        }
    }

    private static func watch(
        _ api: LiveAPI,
        _ name: String,
        account: String,
        _ order: String
    ) async throws {
        let body = """
            {"source":"src_\(name)","account":"\(account)","order":"\(order)",\
            "metadata":{"customer":"Jane Doe","colour":"red"}}
            """
        let made = try await api.request(.POST, "/v1/watches", body: body, headers: bearer(whole))
        #expect(made.status == 201, "\(made.text)")
    }

    /// Returns all pages of every route that lists, counts or searches.
    private static func answers(_ api: LiveAPI) async throws -> [(name: String, pages: [String])] {
        var all: [(name: String, pages: [String])] = []
        for route in api.routes where route.access.scope != nil && !route.path.contains("{") {
            if route.methodName == "GET" {
                for query in queries(of: route) {
                    let name = "\(route.path)?\(query.joined(separator: "&"))"
                    all.append((name, try await pages(api, route.path, query)))
                }
            } else if route.path.hasPrefix("/v1/watches/batch/"),
                route.operation != "restoreWatches"
            {
                for words in searches {
                    let body = #"{"q":"\#(words)","dry_run":true}"#
                    let answer = try await api.request(
                        .POST,
                        route.path,
                        body: body,
                        headers: bearer(bound)
                    )
                    #expect(answer.status == 200, "\(answer.text)")
                    all.append(("\(route.path) \(words)", [neutral(answer.text)]))
                }
            }
        }
        return all
    }

    /// Returns the queries of a list: short pages, from the beginning, with each search and state.
    private static func queries(of route: RouteDescription) -> [[String]] {
        let takes = Set(route.parameters.filter { $0.location == .query }.map(\.name))
        // Both watches are late by this span on any machine.
        var queries: [[String]] = takes.contains("over") ? [["over=1ms"]] : [[]]
        if takes.contains("q") { queries += searches.map { ["q=\(escaped($0))"] } }
        if takes.contains("state"), route.path == "/v1/watches" {
            queries += ["open", "closed", "quarantined"].map { ["state=\($0)"] }
        }
        if takes.contains("limit") { queries += queries.map { $0 + ["limit=1"] } }
        if takes.contains("from") { queries = queries.map { $0 + ["from=oldest"] } }
        return queries
    }

    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }

    private static func pages(
        _ api: LiveAPI,
        _ path: String,
        _ query: [String]
    ) async throws -> [String] {
        var pages: [String] = []
        var cursor: String?
        repeat {
            // Only the first request names the start.
            let start = cursor.map { ["cursor=\($0)"] } ?? []
            let rest = cursor == nil ? query : query.filter { !$0.hasPrefix("from=") }
            let words = (rest + start).joined(separator: "&")
            let answer = try await api.get(
                words.isEmpty ? path : "\(path)?\(words)",
                headers: bearer(bound)
            )
            #expect(answer.status < 500, "\(answer.text)")
            pages.append(neutral(answer.text))
            guard answer.json["has_more"] as? Bool == true else { break }
            cursor = answer["next"]
        } while cursor != nil && pages.count < pagesMax
        return pages
    }

    /// Returns the text without values that differ between responses.
    private static func neutral(_ text: String) -> String {
        text.replacing(/"(request_id|instance|next|server_time|now|at)":"[^"]*"/) { "\($0.1)" }
            .replacing(/"(overdue_ms|uptime_ms|late_ms)":[0-9]+/) { "\($0.1)" }
            // Ages depend only on the caller's own objects.
            .replacing(/"[a-z_]*age[a-z_]*":[0-9]+/, with: "")
    }
}
