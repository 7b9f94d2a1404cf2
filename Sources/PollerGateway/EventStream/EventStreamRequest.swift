import Foundation
import NIOHTTP1
import PollerIdentity
import SafeNumbers

/// A request for an event stream, read from its head.
///
/// ```
/// GET /v1/sources/{id}/events?account=&kind=&types=&since=&after_seq=&token=
/// GET /v1/events/stream?source=a,b&account=&types=a,b&since=&token=
/// Last-Event-ID: <cursor>
/// ```
/// `since` is a cursor, `now` or `snapshot`. Browsers send `Last-Event-ID` when they reconnect. It takes precedence
/// over `since` and `after_seq`. Named sources without `account` are those of the default account.
struct EventStreamRequest: Hashable, Sendable {
    /// The maximum length of a query.
    ///
    /// The longest cursor and 100 sources fit, and longer queries could exhaust memory.
    private static let queryBytesMax = 16_384
    private static let parameters: Set<String> = [
        "source", "account", "kind", "types", "since", "after_seq", "token",
    ]

    /// The source of `/v1/sources/{id}/events`, or `nil` for the stream of many sources.
    let source: String?
    let query: [String: String]
    let lastEventID: String?
    let credentials: String?
    /// Whether the request is authorized by a token in the query.
    var hasQueryToken: Bool { credentials == nil && query["token"] != nil }

    static func isServed(_ path: Substring) -> Bool {
        path == "/v1/events/stream" || source(in: path) != nil
    }

    /// Reads a head.
    ///
    /// *Errors*: a ``Refusal`` that describes the mistake in the query.
    init(_ head: HTTPRequestHead) throws(Refusal) {
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        source = Self.source(in: parts.first ?? "")
        query = parts.count > 1 ? try Self.query(parts[1]) : [:]
        lastEventID = head.headers.first(name: "last-event-id").flatMap { $0.isEmpty ? nil : $0 }
        credentials = BearerToken.text(in: head)
    }

    /// Returns the subscription that the query requests.
    ///
    /// *Errors*: ``InvalidInput`` with the parameter's name.
    func subscription(
        for principal: Principal,
        limits: GatewayLimits
    ) throws(InvalidInput) -> Subscription {
        let from: Subscription.Start
        switch (lastEventID ?? query["since"], query["after_seq"]) {
        case (nil, let text?):
            guard let seq = Int(safe: text), seq >= 0 else {
                throw InvalidInput("after_seq", "must be 0 or more")
            }
            from = .seq(seq)
        // A reconnecting browser repeats the query, so its `Last-Event-ID` is newer.
        case (let text?, let seq):
            guard seq == nil || lastEventID != nil else {
                throw InvalidInput("after_seq", "excludes since; leave one out")
            }
            from = text == "now" ? .now : text == "snapshot" ? .snapshot : .cursor(text)
        case (nil, nil): from = source == nil ? .now : .snapshot
        }
        let list = { (name: String) in
            query[name]?.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        // As over a WebSocket, a source without an account belongs to the default account.
        let namesSources = source != nil || query["source"] != nil
        let usesDefaultAccount = query["account"] == nil && namesSources
        return try Subscription(
            id: "s1",
            account: usesDefaultAccount ? try principal.defaultAccount : query["account"],
            sources: source.map { [$0] } ?? list("source"),
            types: list("types"),
            kind: query["kind"],
            from: from,
            principal: principal,
            limits: limits
        )
    }

    /// Returns the watch of `/v1/sources/{id}/events`, for credentials that are a source's client secret.
    func watch() throws(InvalidInput) -> WatchKey? {
        guard let source else { return nil }
        return try WatchKey(account: query["account"], source: source, kind: query["kind"])
    }

    /// Returns `{id}` of `/v1/sources/{id}/events`.
    private static func source(in path: Substring) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "v1", parts[2] == "sources",
            parts[4] == "events", !parts[3].isEmpty
        else { return nil }
        return String(parts[3]).removingPercentEncoding
    }

    private static func query(_ text: Substring) throws(Refusal) -> [String: String] {
        guard text.utf8.count <= queryBytesMax else {
            throw Refusal(
                status: .uriTooLong,
                code: "invalid_parameter",
                detail: "the query has more than \(queryBytesMax) bytes"
            )
        }
        var query: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let decoded = parts.map { String($0).removingPercentEncoding }
            guard decoded.count == 2, let name = decoded[0], let value = decoded[1] else {
                throw invalid("the query must be name=value pairs in UTF-8")
            }
            // Libraries add this cache-buster, so it is not the user's mistake.
            guard name != "_" else { continue }
            guard parameters.contains(name) else {
                throw invalid(
                    "there is no such parameter here; there are "
                        + parameters.sorted().joined(separator: ", ")
                )
            }
            guard query.updateValue(value, forKey: name) == nil else {
                throw invalid("\(name) must be given once; separate values with commas")
            }
        }
        return query
    }

    private static func invalid(_ detail: String) -> Refusal {
        Refusal(status: .badRequest, code: "invalid_parameter", detail: detail)
    }
}
