import JSONText
import SafeNumbers

/// The failure of a call to the server.
public enum PollerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The client was created or called with an invalid argument.
    case invalidConfiguration(String)
    /// No response: connection refused, unknown host, timeout, or disconnect.
    ///
    /// Whether the request took effect is unknown. Every request may be repeated.
    case unreachable(url: String, reason: String)
    /// The server responded with a problem.
    case problem(PollerProblem)
    /// The response is not from a poller, or this client does not understand it.
    case unintelligible(String)

    /// Whether the same request may succeed soon.
    public var isTransient: Bool {
        switch self {
        case .unreachable: true
        case .problem(let problem):
            // An account's watches end within minutes, which is not soon.
            problem.code != "too_many_watches"
                && [408, 429, 502, 503, 504].contains(problem.status)
                // The server is processing the same request, or it stopped while doing so.
                || problem.code == "idempotency_key_in_use"
        case .invalidConfiguration, .unintelligible: false
        }
    }

    /// The wait that the server requested.
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

/// The server's description of a failed request (RFC 9457).
public struct PollerProblem: Hashable, Sendable, CustomStringConvertible {
    /// The HTTP status.
    public let status: Int
    /// A stable code for programs, such as `unknown_field` or `watch_not_found`.
    ///
    /// If a proxy responded, it is `http_502` or the like.
    public let code: String
    /// A short sentence, the same for every occurrence.
    public let title: String
    /// The mistake in this request and the correction.
    public let detail: String
    /// The wrong field of the request, if there is only one.
    public let field: String?
    /// The id of the request, for an operator who reads the server's log.
    public let requestID: String?
    /// The wait before a retry.
    public let retryAfter: Duration?
    /// The first 20 invalid items of a batch.
    public let items: [Item]
    /// The number of invalid items.
    public let itemsTotal: Int

    /// An invalid item of a batch.
    public struct Item: Hashable, Sendable {
        /// The index of the item among the enqueued requests, from 0.
        public let index: Int
        /// The code, as in ``PollerProblem/code``.
        public let code: String
        /// The field, as in ``PollerProblem/field``.
        public let field: String?
        /// The detail, as in ``PollerProblem/detail``.
        public let detail: String

        func moved(by offset: Int) -> Item {
            Item(index: index + offset, code: code, field: field, detail: detail)
        }
    }

    /// One or two sentences for people.
    public var description: String {
        [title, detail].filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// Returns the problem with another detail, from a caller with more context.
    package func withDetail(_ detail: String) -> PollerProblem {
        with(detail: detail, items: items)
    }

    /// Returns the problem with shifted item indexes, because batches are sent in parts.
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
    /// Reads an unsuccessful response.
    ///
    /// The result has a message for any server.
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
            // Limited to an hour, in case the server sends a wrong value.
            retryAfter: retryAfterSeconds.map { .seconds(min(max($0, 0), 3600)) },
            items: items,
            itemsTotal: json?.member("errors_total")?.number.flatMap { Int(safe: $0) } ?? 0
        )
    }
}

extension PollerProblem.Item {
    /// Reads an invalid item, or returns `nil` if the JSON is incomplete.
    fileprivate init?(_ json: RawJSON) {
        guard let index = json.member("index")?.number.flatMap({ Int(safe: $0) }),
            let code = json.member("code")?.string, let detail = json.member("detail")?.string
        else { return nil }
        self.init(index: index, code: code, field: json.member("field")?.string, detail: detail)
    }
}
