import NIOHTTP1

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PollerClient {
    /// Watches a source, or joins its open watch; the answer's `outcome` says which.
    @discardableResult
    public func enqueue(_ request: WatchRequest) async throws -> Watch {
        let body = try request.line(Self.encoder())
        return try watch(try await send(.POST, "/v1/watches", body: body))
    }

    /// Reads a watch, open or closed.
    public func watch(_ name: WatchName) async throws -> Watch {
        try watch(try await send(.GET, name.path, query: name.query))
    }

    /// Reads a watch once it has recorded something beyond `seq`; nil when it has not within
    /// `wait`, at most a minute.
    public func watch(
        _ name: WatchName,
        after seq: Int,
        wait: Duration = .zero
    ) async throws -> Watch? {
        let query =
            name.query + [
                ("after_seq", String(seq)), ("wait", wait > .zero ? wait.spanText : nil),
            ]
        let answer = try await send(.GET, name.path, query: query, wait: wait)
        return answer.status == 304 ? nil : try watch(answer)
    }

    /// A page of watches.
    ///
    /// - `state`: `open` or `closed`; nil for both, open ones first.
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the page before.
    public func list(
        state: String? = nil,
        status: String? = nil,
        account: String? = nil,
        kind: String? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) async throws -> Page<Watch> {
        let query: [(String, String?)] = [
            ("state", state), ("status", status), ("account", account), ("kind", kind),
            ("limit", String(limit)), ("cursor", cursor),
        ]
        return try Page(try await send(.GET, "/v1/watches", query: query), Watch.init(json:))
    }

    /// Makes an open watch due now.
    @discardableResult
    public func poll(_ name: WatchName) async throws -> Watch {
        try watch(try await send(.POST, name.path + "/poll", query: name.query))
    }

    /// Stops watching.
    @discardableResult
    public func cancel(_ name: WatchName) async throws -> Watch {
        try watch(try await send(.DELETE, name.path, query: name.query))
    }

    private func watch(_ answer: Answer) throws(PollerError) -> Watch {
        guard let watch = Watch(json: answer.text) else {
            throw .unintelligible(
                "the answer is not a watch: check the URL and the server's version"
            )
        }
        return watch
    }
}

/// What names a watch: a source under an account.
public struct WatchName: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The upstream's id: `src_…`, `pi_…`.
    public let source: String
    /// The account at the upstream; nil is the server's `default`.
    public let account: String?
    /// `source`, `payment_intent`, `setup_intent`, `charge` or `http`; needed when the id has none
    /// of Stripe's prefixes.
    public let kind: String?

    /// Names the watch of a source.
    public init(_ source: String, account: String? = nil, kind: String? = nil) {
        self.source = source
        self.account = account
        self.kind = kind
    }

    /// Names the watch of a source under the default account.
    public init(stringLiteral source: String) {
        self.init(source)
    }

    /// The source, with its account when that is not the default.
    public var description: String {
        account.map { "\(source) (\($0))" } ?? source
    }

    var path: String { "/v1/watches/\(PollerClient.percentEncoded(source))" }

    var query: [(String, String?)] { [("account", account), ("kind", kind)] }

    /// Whether an event is one of this watch.
    func names(_ event: WatchEvent) -> Bool {
        event.source == source && event.account == (account ?? "default")
    }
}

/// What the server knows about one watch at one moment.
public struct Watch: Hashable, Sendable {
    /// The watch's short key in the queue.
    public let id: String
    /// The upstream's id.
    public let source: String
    /// `source`, `payment_intent`, `setup_intent`, `charge` or `http`.
    public let kind: String
    /// The account at the upstream.
    public let account: String
    /// Whether it is still polled.
    public let isOpen: Bool
    /// `settled`, `reached`, `expired`, `cancelled`, `gone` or `dead`; nil while it is open.
    public let closedReason: String?
    /// The last status seen; nil before the first answer of the upstream.
    public let status: String?
    /// The status cannot change any more.
    public let isFinal: Bool
    /// Events recorded so far.
    public let seq: Int
    /// How often it was watched anew after a close; from 1.
    public let run: Int
    /// Polls so far.
    public let attempts: Int
    /// When the run began.
    public let createdAt: Date
    /// When the last look happens.
    public let deadlineAt: Date
    /// When it is polled next; nil once closed, and during a poll.
    public let nextPollAt: Date?
    /// When it was polled last.
    public let lastPolledAt: Date?
    /// Why the last poll failed; nil after one that was answered.
    public let lastError: String?
    /// The policy's name.
    public let policy: String
    /// How far it is followed: `left_pending`, `settled` or `final`.
    public let until: String
    /// Where it is told.
    public let notify: [String]
    /// What was given to enqueue.
    public let metadata: [String: String]
    /// `created`, `restarted` or `joined`, in the answer to enqueue alone.
    public let outcome: String?
    /// The watch as the server sent it, the upstream's `object` included.
    public let json: String

    /// Reads a watch; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)),
            let createdAt = Date(wireTime: wire.createdAt),
            let deadlineAt = Date(wireTime: wire.deadlineAt)
        else { return nil }
        id = wire.id
        source = wire.source
        kind = wire.kind
        account = wire.account
        isOpen = wire.state == "open"
        closedReason = wire.closedReason
        status = wire.status
        isFinal = wire.final
        seq = wire.seq
        run = wire.run
        attempts = wire.attempts
        self.createdAt = createdAt
        self.deadlineAt = deadlineAt
        nextPollAt = wire.nextPollAt.flatMap(Date.init(wireTime:))
        lastPolledAt = wire.lastPolledAt.flatMap(Date.init(wireTime:))
        lastError = wire.lastError
        policy = wire.policy
        until = wire.until ?? "settled"
        notify = wire.notify
        metadata = wire.metadata
        outcome = wire.outcome
        self.json = json
    }

    private struct Wire: Decodable {
        let id: String
        let source: String
        let kind: String
        let account: String
        let state: String
        let closedReason: String?
        let status: String?
        let final: Bool
        let seq: Int
        let run: Int
        let attempts: Int
        let createdAt: String
        let deadlineAt: String
        let nextPollAt: String?
        let lastPolledAt: String?
        let lastError: String?
        let policy: String
        let until: String?
        let notify: [String]
        let metadata: [String: String]
        let outcome: String?

        enum CodingKeys: String, CodingKey {
            case id, source, kind, account, state, status, final, seq, run, attempts, policy
            case until, notify, metadata, outcome
            case closedReason = "closed_reason"
            case createdAt = "created_at"
            case deadlineAt = "deadline_at"
            case nextPollAt = "next_poll_at"
            case lastPolledAt = "last_polled_at"
            case lastError = "last_error"
        }
    }
}

extension Date {
    /// Reads a time of the API: `2026-11-20T09:30:00.125Z`.
    init?(wireTime text: String) {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = try? Date(text, strategy: style) else { return nil }
        self = date
    }

    /// The time as the API writes it.
    var wireTime: String {
        formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
