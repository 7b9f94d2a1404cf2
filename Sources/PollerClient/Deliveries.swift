import NIOHTTP1

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PollerClient {
    /// A page of deliveries.
    ///
    /// - `endpoint`: only those to this endpoint.
    /// - `source`: only those about this source.
    /// - `state`: `waiting`, `in_flight`, `failing`, `dead` or `done`.
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the page before.
    public func deliveries(
        endpoint: String? = nil,
        source: WatchName? = nil,
        state: String? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) async throws -> Page<Delivery> {
        let query: [(String, String?)] = [
            ("endpoint", endpoint), ("source", source?.source), ("account", source?.account),
            ("kind", source?.kind), ("state", state), ("limit", String(limit)),
            ("cursor", cursor),
        ]
        let answer = try await send(.GET, "/v1/deliveries", query: query)
        return try Page(answer, Delivery.init(json:))
    }

    /// Reads a delivery.
    public func delivery(_ id: String) async throws -> Delivery {
        try Self.delivery(try await send(.GET, Self.path(ofDelivery: id)))
    }

    /// The newest attempts of a delivery, the oldest of them first.
    public func attempts(of id: String) async throws -> [DeliveryAttempt] {
        let answer = try await send(.GET, Self.path(ofDelivery: id) + "/attempts")
        return try Page(answer, DeliveryAttempt.init(json:)).items
    }

    /// Tries a delivery now, and sends what was given up again under the same event ids.
    @discardableResult
    public func retry(delivery id: String) async throws -> Delivery {
        try Self.delivery(try await send(.POST, Self.path(ofDelivery: id) + "/retry"))
    }

    /// Begins to send an endpoint again what it did not get, or everything.
    ///
    /// - `choice`: what is sent; ``Replay/Choice/all`` needs `since`.
    /// - `since`: only events recorded since.
    /// - `rate`: deliveries a second, 1–10,000; nil for the server's own.
    /// - `isDryRun`: only count.
    @discardableResult
    public func replay(
        endpoint id: String,
        _ choice: Replay.Choice = .dead,
        since: Date? = nil,
        rate: Int? = nil,
        isDryRun: Bool = false
    ) async throws -> Replay {
        let wish = ReplayWish(
            status: choice.rawValue,
            since: since?.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
            rate: rate,
            dryRun: isDryRun
        )
        let body: String
        do {
            body = String(decoding: try Self.encoder().encode(wish), as: UTF8.self)
        } catch {
            throw PollerError.invalidConfiguration("the wish cannot be written as JSON")
        }
        return try Self.replay(try await send(.POST, Self.path(ofReplay: id), body: body))
    }

    /// How the last replay of an endpoint stands.
    public func replay(endpoint id: String) async throws -> Replay {
        try Self.replay(try await send(.GET, Self.path(ofReplay: id)))
    }

    private static func path(ofDelivery id: String) -> String {
        "/v1/deliveries/\(percentEncoded(id))"
    }

    private static func path(ofReplay id: String) -> String {
        "/v1/endpoints/\(percentEncoded(id))/replay"
    }

    private static func delivery(_ answer: Answer) throws(PollerError) -> Delivery {
        guard let delivery = Delivery(json: answer.text) else {
            throw .unintelligible(
                "the answer is not a delivery: check the URL and the server's version"
            )
        }
        return delivery
    }

    private static func replay(_ answer: Answer) throws(PollerError) -> Replay {
        guard let replay = Replay(json: answer.text) else {
            throw .unintelligible(
                "the answer is not a replay: check the URL and the server's version"
            )
        }
        return replay
    }

    private struct ReplayWish: Encodable {
        let status: String
        let since: String?
        let rate: Int?
        let dryRun: Bool

        enum CodingKeys: String, CodingKey {
            case status, since, rate
            case dryRun = "dry_run"
        }
    }
}

/// What one endpoint still has to be told about one source.
public struct Delivery: Hashable, Sendable {
    /// `dlv_…`.
    public let id: String
    /// The endpoint's id, `ep_…`.
    public let endpoint: String
    /// The URL of an inline `notify`; nil for a registered endpoint.
    public let url: String?
    /// The account at the upstream.
    public let account: String
    /// The source it tells about.
    public let source: String
    /// `source` or `payment_intent`.
    public let kind: String
    /// `waiting`, `in_flight`, `failing`, `dead` or `done`.
    public let state: String
    /// The `seq` of the last event that was accepted or given up.
    public let lastSeq: Int
    /// Failed attempts of the event in hand.
    public let failures: Int
    /// Attempts ever made.
    public let attempts: Int
    /// Events that were given up and can be sent again.
    public let deadSeqs: [Int]
    /// Of those, the ones being sent again.
    public let retryingSeqs: [Int]
    /// When the event in hand failed first.
    public let failingSince: Date?
    /// When the next attempt is due; nil when there is none to come.
    public let nextAttemptAt: Date?
    /// Why the last attempt failed; nil after one that was accepted.
    public let lastError: String?
    /// Whether the endpoint as a whole is tried: `closed` as it should be, `open` not at all,
    /// `probing` by one attempt at a time; nil where the server did not say.
    public let circuit: String?
    /// The endpoint is left alone until then.
    public let heldUntil: Date?
    /// The delivery as the server sent it.
    public let json: String

    /// Reads a delivery; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)) else {
            return nil
        }
        id = wire.id
        endpoint = wire.endpoint
        url = wire.url
        account = wire.account
        source = wire.source
        kind = wire.kind
        state = wire.state
        lastSeq = wire.lastSeq
        failures = wire.failures
        attempts = wire.attempts
        deadSeqs = wire.deadSeqs
        retryingSeqs = wire.retryingSeqs
        failingSince = wire.failingSince.flatMap(Date.init(wireTime:))
        nextAttemptAt = wire.nextAttemptAt.flatMap(Date.init(wireTime:))
        lastError = wire.lastError
        circuit = wire.health?.circuit
        heldUntil = wire.health?.heldUntil.flatMap(Date.init(wireTime:))
        self.json = json
    }

    private struct Wire: Decodable {
        let id: String
        let endpoint: String
        let url: String?
        let account: String
        let source: String
        let kind: String
        let state: String
        let lastSeq: Int
        let failures: Int
        let attempts: Int
        let deadSeqs: [Int]
        let retryingSeqs: [Int]
        let failingSince: String?
        let nextAttemptAt: String?
        let lastError: String?
        let health: Health?

        enum CodingKeys: String, CodingKey {
            case id, endpoint, url, account, source, kind, state, failures, attempts
            case lastSeq = "last_seq"
            case deadSeqs = "dead_seqs"
            case retryingSeqs = "retrying_seqs"
            case failingSince = "failing_since"
            case nextAttemptAt = "next_attempt_at"
            case lastError = "last_error"
            case health = "endpoint_health"
        }
    }

    private struct Health: Decodable {
        let circuit: String
        let heldUntil: String?

        enum CodingKeys: String, CodingKey {
            case circuit
            case heldUntil = "held_until"
        }
    }
}

/// One attempt to tell an endpoint one event.
public struct DeliveryAttempt: Hashable, Sendable {
    /// When it began.
    public let at: Date
    /// The event's id, the same for all its attempts.
    public let event: String
    /// The event's `seq`.
    public let seq: Int
    /// 1 for the first attempt of the event.
    public let number: Int
    /// `delivered`, `failed` or `rejected`.
    public let outcome: String
    /// `ok`, `timeout`, `server_error` and so on.
    public let kind: String
    /// The HTTP or SMTP status; nil without an answer.
    public let code: Int?
    /// The address that was connected.
    public let address: String?
    /// Where the time went, as far as it is known.
    public let spans: Spans
    /// What was wrong.
    public let reason: String?
    /// The beginning of the answer, unless it was accepted.
    public let excerpt: String?
    /// The attempt as the server sent it.
    public let json: String

    /// The phases of an attempt in milliseconds.
    public struct Spans: Hashable, Sendable, Decodable {
        /// Resolving the name.
        public let resolve: Int?
        /// Getting a connection, TLS included.
        public let connect: Int?
        /// From the request's head to the answer's.
        public let firstByte: Int?
        /// All in all.
        public let total: Int?

        enum CodingKeys: String, CodingKey {
            case resolve, connect, total
            case firstByte = "first_byte"
        }
    }

    /// Reads an attempt; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)),
            let at = Date(wireTime: wire.at)
        else { return nil }
        self.at = at
        event = wire.event
        seq = wire.seq
        number = wire.number
        outcome = wire.outcome
        kind = wire.class
        code = wire.code
        address = wire.address
        spans = wire.ms
        reason = wire.reason
        excerpt = wire.excerpt
        self.json = json
    }

    private struct Wire: Decodable {
        let at: String
        let event: String
        let seq: Int
        let number: Int
        let outcome: String
        let `class`: String
        let code: Int?
        let address: String?
        let ms: Spans
        let reason: String?
        let excerpt: String?
    }
}

/// The sending again of what an endpoint did not get, or of everything, as it stands.
public struct Replay: Hashable, Sendable {
    /// What is sent again.
    public enum Choice: String, Hashable, Sendable, CaseIterable {
        /// Events that were given up.
        case dead
        /// Every event since an instant, accepted or not.
        case all
    }

    /// The endpoint's id.
    public let endpoint: String
    /// `running`, `finished` or `failed`.
    public let state: String
    /// `dead` or `all`.
    public let status: String
    /// Only events recorded since.
    public let since: Date?
    /// Deliveries a second.
    public let rate: Int
    /// Nothing is sent: it only counts.
    public let isDryRun: Bool
    /// Deliveries looked at so far.
    public let lookedAt: Int
    /// Deliveries that have something to send again.
    public let matched: Int
    /// Events that they send again.
    public let events: Int
    /// Deliveries that were being tried all the while, and so were left as they are.
    public let busy: Int
    /// Why it ended early.
    public let error: String?
    /// The job as the server sent it.
    public let json: String

    /// Whether nothing more will come of it.
    public var isOver: Bool { state != "running" }

    /// Reads a job; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)) else {
            return nil
        }
        endpoint = wire.endpoint
        state = wire.state
        status = wire.status
        since = wire.since.flatMap(Date.init(wireTime:))
        rate = wire.rate
        isDryRun = wire.dryRun
        lookedAt = wire.lookedAt
        matched = wire.matched
        events = wire.events
        busy = wire.busy
        error = wire.error
        self.json = json
    }

    private struct Wire: Decodable {
        let endpoint: String
        let state: String
        let status: String
        let since: String?
        let rate: Int
        let dryRun: Bool
        let lookedAt: Int
        let matched: Int
        let events: Int
        let busy: Int
        let error: String?

        enum CodingKeys: String, CodingKey {
            case endpoint, state, status, since, rate, matched, events, busy, error
            case dryRun = "dry_run"
            case lookedAt = "looked_at"
        }
    }
}
