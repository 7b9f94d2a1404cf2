/// What became of many requests.
public struct BatchResult: Hashable, Sendable, Codable {
    /// Sources nobody watched before.
    public private(set) var created = 0
    /// Sources whose watch was closed and starts again.
    public private(set) var restarted = 0
    /// Sources that are watched already; the request was merged.
    public private(set) var joined = 0
    /// Requests left out because an equal one came before.
    public private(set) var duplicates = 0
    /// One for each request that was not left out, in order.
    public private(set) var results: [Result] = []

    /// What became of one request.
    public struct Result: Hashable, Sendable, Codable {
        /// The upstream's id.
        public let source: String
        /// The account at the upstream.
        public let account: String
        /// `created`, `restarted` or `joined`.
        public let outcome: String
        /// How often it was watched anew after a close; from 1.
        public let run: Int
        /// Events recorded so far.
        public let seq: Int
    }

    enum CodingKeys: String, CodingKey {
        case created, restarted, joined, duplicates
        case results = "data"
    }

    /// The result of nothing.
    init() {}

    static func += (lhs: inout BatchResult, rhs: BatchResult) {
        lhs.created += rhs.created
        lhs.restarted += rhs.restarted
        lhs.joined += rhs.joined
        lhs.duplicates += rhs.duplicates
        lhs.results += rhs.results
    }
}
