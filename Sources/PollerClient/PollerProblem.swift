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
    public struct Item: Hashable, Sendable, Decodable {
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

    /// The same with items counted from further on: batches are sent in parts.
    func moved(by offset: Int) -> PollerProblem {
        PollerProblem(
            status: status,
            code: code,
            title: title,
            detail: detail,
            field: field,
            requestID: requestID,
            retryAfter: retryAfter,
            items: items.map { $0.moved(by: offset) },
            itemsTotal: itemsTotal
        )
    }
}
