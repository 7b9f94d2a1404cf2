import NIOHTTP1
public import PollerWire

extension PollerClient {
    /// Watches a source, or joins its open watch.
    ///
    /// The `outcome` of the response distinguishes them.
    @discardableResult
    public func enqueue(_ request: WatchRequest) async throws -> Received<Watch> {
        try await send(.POST, "/v1/watches", body: request.json).received("a watch")
    }

    /// Reads a watch, open or closed.
    public func watch(_ name: WatchName) async throws -> Received<Watch> {
        try await send(.GET, name.path, query: name.query).received("a watch")
    }

    /// Reads a watch once it has an event after `seq`.
    ///
    /// Returns `nil` if there is none within `wait`, at most a minute.
    public func watch(
        _ name: WatchName,
        after seq: Int,
        wait: Duration = .zero
    ) async throws -> Received<Watch>? {
        let query =
            name.query + [
                ("after_seq", String(seq)), ("wait", wait > .zero ? "\(Span(wait))" : nil),
            ]
        let answer = try await send(.GET, name.path, query: query, wait: wait)
        return answer.status == 304 ? nil : try answer.received("a watch")
    }

    /// Returns a page of watches.
    ///
    /// - `state`: `open` or `closed`, or `nil` for both, open ones first.
    /// - `payment`: the payment state, such as `paid`, or `nil` for any.
    /// - `createdAfter`, `createdBefore`: a day, a time or an age, such as `2026-11-23` and `2d`.
    /// - `words`: the search terms, such as `order=A77 status=failed`, or `nil` for everything.
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the previous page.
    /// - `hasMemory`: whether to add the data that ``restore(_:isTrusted:retrying:)`` needs.
    public func list(
        state: String? = nil,
        status: String? = nil,
        payment: String? = nil,
        account: String? = nil,
        kind: String? = nil,
        createdAfter: String? = nil,
        createdBefore: String? = nil,
        matching words: String? = nil,
        limit: Int = 50,
        cursor: String? = nil,
        hasMemory: Bool = false
    ) async throws -> Page<Watch> {
        let query: [(String, String?)] = [
            ("state", state), ("status", status), ("payment", payment), ("account", account),
            ("kind", kind), ("created_after", createdAfter), ("created_before", createdBefore),
            ("q", words), ("limit", String(limit)), ("cursor", cursor),
            ("memory", hasMemory ? "true" : nil),
        ]
        return try Page(try await send(.GET, "/v1/watches", query: query))
    }

    /// Returns the number of watches that match a filter, and their payment sums, for the newest 10,000 at most.
    ///
    /// The filters are those of
    /// ``list(state:status:payment:account:kind:createdAfter:createdBefore:matching:limit:cursor:hasMemory:)``.
    public func summary(
        state: String? = nil,
        status: String? = nil,
        payment: String? = nil,
        account: String? = nil,
        kind: String? = nil,
        createdAfter: String? = nil,
        createdBefore: String? = nil,
        matching words: String? = nil
    ) async throws -> Received<WatchSummary> {
        let query: [(String, String?)] = [
            ("state", state), ("status", status), ("payment", payment), ("account", account),
            ("kind", kind), ("created_after", createdAfter), ("created_before", createdBefore),
            ("q", words),
        ]
        return try await send(.GET, "/v1/watches/summary", query: query).received("a summary")
    }

    /// Makes an open watch due now.
    @discardableResult
    public func poll(_ name: WatchName) async throws -> Received<Watch> {
        try await send(.POST, name.path + "/poll", query: name.query).received("a watch")
    }

    /// Applies an action to one part of a search result, or counts it.
    ///
    /// - `action`: `poll`, `cancel`, `redrive` or `dismiss`.
    /// - `words`: the search terms, such as `order=A77`.
    /// - `isDryRun`: only count.
    /// - `cursor`: ``SelectionResult/next`` of the previous part.
    public func select(
        _ action: String,
        matching words: String,
        account: String? = nil,
        isDryRun: Bool = false,
        cursor: String? = nil
    ) async throws -> Received<SelectionResult> {
        var selection = WatchSelection()
        selection.words = words
        selection.account = account
        selection.isDryRun = isDryRun
        selection.cursor = cursor
        let path = "/v1/watches/batch/\(action)"
        return try await send(.POST, path, body: selection.json).received("a result")
    }

    /// Stops watching.
    @discardableResult
    public func cancel(_ name: WatchName) async throws -> Received<Watch> {
        try await send(.DELETE, name.path, query: name.query).received("a watch")
    }
}

/// The name of a watch: a source under an account.
public struct WatchName: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The upstream's id: `src_…`, `pi_…`.
    public let source: String
    /// The account at the upstream.
    ///
    /// `nil` means `default`, or the only account of a key that is bound to another one.
    public let account: String?
    /// The kind: `source`, `payment_intent`, `setup_intent`, `charge` or `http`.
    ///
    /// It is needed if the id has none of Stripe's prefixes.
    public let kind: String?

    /// Creates the name of a source's watch.
    public init(_ source: String, account: String? = nil, kind: String? = nil) {
        self.source = source
        self.account = account
        self.kind = kind
    }

    /// Creates the name of a source's watch under the default account.
    public init(stringLiteral source: String) {
        self.init(source)
    }

    /// The source, with its account unless that is the default.
    public var description: String {
        account.map { "\(source) (\($0))" } ?? source
    }

    var path: String { "/v1/watches/\(PollerClient.percentEncoded(source))" }

    var query: [(String, String?)] { [("account", account), ("kind", kind)] }

    /// Whether an event belongs to this watch, whose account must be set.
    func names(_ event: Received<Event>) -> Bool {
        event.source == source && event.account == account
    }
}
