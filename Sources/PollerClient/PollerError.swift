import JSONText
import SafeNumbers

/// Why a call to the server failed.
public enum PollerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The client was given something it cannot work with.
    case invalidConfiguration(String)
    /// No answer: refused, unknown host, timeout, cut off. Whether a request took effect is
    /// unknown; every request may be repeated.
    case unreachable(url: String, reason: String)
    /// The server answered with a problem.
    case problem(PollerProblem)
    /// Whoever answered is not a poller, or one this client does not understand.
    case unintelligible(String)

    /// Whether the same request may work in a moment.
    public var isTransient: Bool {
        switch self {
        case .unreachable: true
        case .problem(let problem):
            // An account's watches end within minutes, not in a moment.
            problem.code != "too_many_watches"
                && [408, 429, 502, 503, 504].contains(problem.status)
                // The server is still at the same request, or was when it ended.
                || problem.code == "idempotency_key_in_use"
        case .invalidConfiguration, .unintelligible: false
        }
    }

    /// What the server wants to be left alone for.
    public var retryAfter: Duration? {
        guard case .problem(let problem) = self else { return nil }
        return problem.retryAfter
    }

    /// One or two sentences for people.
    public var description: String {
        switch self {
        case .invalidConfiguration(let reason): reason
        case .unreachable(let url, let reason): "no answer from \(url): \(reason)"
        case .problem(let problem): problem.description
        case .unintelligible(let reason): reason
        }
    }
}

/// What the server says about a request it did not fulfil (RFC 9457).
public struct PollerProblem: Hashable, Sendable, CustomStringConvertible {
    /// The HTTP status.
    public let status: Int
    /// Stable name to decide on: `unknown_field`, `watch_not_found`, …; `http_502` and the like
    /// when something between answered.
    public let code: String
    /// The same short sentence for every occurrence.
    public let title: String
    /// What is wrong here and what would be right.
    public let detail: String
    /// Where in the request, when it is one place.
    public let field: String?
    /// What to give an operator who looks into the server's log.
    public let requestID: String?
    /// How long to wait before a repeat.
    public let retryAfter: Duration?
    /// What is wrong with single items of a batch; the first 20.
    public let items: [Item]
    /// How many items are wrong.
    public let itemsTotal: Int

    /// What is wrong with one item of a batch.
    public struct Item: Hashable, Sendable {
        /// The item's place in what was given to enqueue, from 0.
        public let index: Int
        /// As ``PollerProblem/code``.
        public let code: String
        /// As ``PollerProblem/field``.
        public let field: String?
        /// As ``PollerProblem/detail``.
        public let detail: String

        func moved(by offset: Int) -> Item {
            Item(index: index + offset, code: code, field: field, detail: detail)
        }
    }

    /// One or two sentences for people.
    public var description: String {
        [title, detail].filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// The same in other words, of somebody who knows what was meant.
    package func saying(_ detail: String) -> PollerProblem { with(detail: detail, items: items) }

    /// The same with items counted from further on: batches are sent in parts.
    func moved(by offset: Int) -> PollerProblem {
        with(detail: detail, items: items.map { $0.moved(by: offset) })
    }

    private func with(detail: String, items: [Item]) -> PollerProblem {
        PollerProblem(
            status: status,
            code: code,
            title: title,
            detail: detail,
            field: field,
            requestID: requestID,
            retryAfter: retryAfter,
            items: items,
            itemsTotal: itemsTotal
        )
    }
}

extension PollerProblem {
    /// Reads an answer that is no success; a message can be shown, whatever server sent it.
    init(status: Int, retryAfterSeconds: Int?, body: [UInt8]) {
        let json = RawJSON(received: body)
        let items = json?.member("errors")?.elements?.compactMap(Item.init(_:)) ?? []
        self.init(
            status: status,
            code: json?.member("code")?.string ?? "http_\(status)",
            title: json?.member("title")?.string ?? "The server answered \(status).",
            detail: json?.member("detail")?.string ?? "",
            field: json?.member("field")?.string,
            requestID: json?.member("request_id")?.string,
            // A server may be wrong about this; an hour is more than anybody waits.
            retryAfter: retryAfterSeconds.map { .seconds(min(max($0, 0), 3600)) },
            items: items,
            itemsTotal: json?.member("errors_total")?.number.flatMap { Int(safe: $0) } ?? 0
        )
    }
}

extension PollerProblem.Item {
    /// Reads what is wrong with one item; nil when that cannot be told.
    fileprivate init?(_ json: RawJSON) {
        guard let index = json.member("index")?.number.flatMap({ Int(safe: $0) }),
            let code = json.member("code")?.string, let detail = json.member("detail")?.string
        else { return nil }
        self.init(index: index, code: code, field: json.member("field")?.string, detail: detail)
    }
}
