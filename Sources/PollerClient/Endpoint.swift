#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A registered place that is told about the events of an account.
public struct Endpoint: Hashable, Sendable {
    /// `ep_…`.
    public let id: String
    /// Whose events it is told.
    public let account: String
    /// What it is called in the server's configuration file; nil when it was made through the API.
    public let name: String?
    /// `https://…`, `mailto:…` or `redis+stream:NAME`.
    public let url: String
    /// What signs its webhooks; only in the answers to its creation and rotation.
    public let secret: String?
    /// Whether it is told anything.
    public let isEnabled: Bool
    /// Why it is told nothing; nil while it is enabled.
    public let disabledReason: String?
    /// Event types such as `source.*`; empty for all.
    public let types: [String]
    /// Sources; empty for all of the account.
    public let sources: [String]
    /// Whether it is told only how watches end.
    public let isFinalOnly: Bool
    /// What a watch's metadata must have; empty for any.
    public let metadata: [String: String]
    /// Whether after a failure only the newest of the events that wait is told.
    public let isCoalescing: Bool
    /// `default`, `fast` or `none`, or the waits after each failure: `5s, 1m`.
    public let retry: String
    /// For one attempt, as `10s`; nil for the server's own.
    public let timeout: String?
    /// How fast it is told; nil for what holds for every endpoint.
    public let limit: Limit?
    /// The names of the headers it asked for; the server never tells their values.
    public let headerNames: [String]
    /// The fallback: who is told when it has not accepted an event in time.
    public let notifyBy: NotifyBy?
    /// `full` or `thin`.
    public let payload: String
    /// How many secrets sign right now, of which all but the newest end by themselves.
    public let secretCount: Int
    /// When it was made; it is told nothing older.
    public let createdAt: Date
    /// When it began to fail; nil when it accepts what it is sent, or was not read alone.
    public let failingSince: Date?
    /// Nothing goes out before: it asked for that, or has failed too often in a row.
    public let heldUntil: Date?
    /// The endpoint as the server sent it.
    public let json: String

    /// How fast an endpoint is told.
    public struct Limit: Hashable, Sendable, Decodable {
        /// Messages a second.
        public let rate: Double
        /// Messages at once after a pause.
        public let burst: Double
        /// Attempts at a time.
        public let concurrency: Int
    }

    /// Who is told when an endpoint has not accepted an event in time.
    public struct NotifyBy: Hashable, Sendable, Decodable {
        /// The span from the recording of the event, as `5m`.
        public let within: String
        /// The other endpoint: `ep_…`.
        public let endpoint: String
    }

    /// Reads an endpoint; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)),
            let createdAt = Date(wireTime: wire.createdAt)
        else { return nil }
        id = wire.id
        account = wire.account
        name = wire.name
        url = wire.url
        secret = wire.secret
        isEnabled = wire.state == "enabled"
        disabledReason = wire.disabledReason
        types = wire.types
        sources = wire.sources
        isFinalOnly = wire.finalOnly
        metadata = wire.metadata ?? [:]
        isCoalescing = wire.coalesce ?? false
        retry = wire.retry?.text ?? "default"
        timeout = wire.timeout
        limit = wire.limit
        headerNames = (wire.headers ?? [:]).keys.sorted()
        notifyBy = wire.notifyBy
        payload = wire.payload
        secretCount = wire.secrets.count
        self.createdAt = createdAt
        failingSince = wire.health?.failingSince.flatMap(Date.init(wireTime:))
        heldUntil = wire.health?.heldUntil.flatMap(Date.init(wireTime:))
        self.json = json
    }

    private struct Wire: Decodable {
        struct Secret: Decodable {}

        /// A name, or the waits.
        struct Retry: Decodable {
            let text: String

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                if let name = try? container.decode(String.self) {
                    text = name
                } else {
                    text = try container.decode([String].self).joined(separator: ", ")
                }
            }
        }

        struct Health: Decodable {
            let failingSince: String?
            let heldUntil: String?

            enum CodingKeys: String, CodingKey {
                case failingSince = "failing_since"
                case heldUntil = "held_until"
            }
        }

        let id: String
        let account: String
        let name: String?
        let url: String
        let secret: String?
        let state: String
        let disabledReason: String?
        let types: [String]
        let sources: [String]
        let metadata: [String: String]?
        let finalOnly: Bool
        let coalesce: Bool?
        let retry: Retry?
        let timeout: String?
        let limit: Limit?
        let headers: [String: String]?
        let notifyBy: NotifyBy?
        let payload: String
        let secrets: [Secret]
        let createdAt: String
        let health: Health?

        enum CodingKeys: String, CodingKey {
            case id, account, name, url, secret, state, types, sources, payload, secrets, health
            case metadata, coalesce, retry, timeout, limit, headers
            case notifyBy = "notify_by"
            case disabledReason = "disabled_reason"
            case finalOnly = "final_only"
            case createdAt = "created_at"
        }
    }
}

/// What an endpoint is to be: of a new one all that is not standard, of an existing one what is
/// to change.
public struct EndpointWish: Hashable, Sendable {
    /// Whose events; only of a new one, nil is the default account.
    public var account: String?
    /// `https://…`, `mailto:…` or `redis+stream:NAME`; required of a new one.
    public var url: String?
    /// Event types such as `source.chargeable` or `source.*`; empty for all.
    public var types: [String]?
    /// Sources; empty for all of the account.
    public var sources: [String]?
    /// What the watch's metadata must hold, all of it.
    public var metadata: [String: String]?
    /// Tell only how watches end.
    public var finalOnly: Bool?
    /// After a failure tell only the newest of what waits, and the end.
    public var coalesces: Bool?
    /// `default`, `fast`, `none`, or waits such as `5s`, `1m`.
    public var retry: [String]?
    /// The span for one attempt, 1 s to 30 s.
    public var timeout: Duration?
    /// Deliveries a second; 0 is no limit.
    public var rate: Double?
    /// Deliveries that may follow each other at once.
    public var burst: Int?
    /// Deliveries in flight at once.
    public var concurrency: Int?
    /// Headers of every request.
    public var headers: [String: String]?
    /// `full` or `thin`.
    public var payload: String?
    /// Tell `fallback` instead of waiting longer than `within`.
    public var notifyBy: NotifyBy?

    /// The span within which an event must be accepted, and who is told otherwise.
    public struct NotifyBy: Hashable, Sendable {
        /// 1 s to 7 days.
        public var within: Duration
        /// The id of the other endpoint.
        public var fallback: String

        /// Puts both together.
        public init(within: Duration, fallback: String) {
            self.within = within
            self.fallback = fallback
        }
    }

    /// A new endpoint at a URL, or nothing to change.
    public init(url: String? = nil, account: String? = nil, types: [String]? = nil) {
        self.url = url
        self.account = account
        self.types = types
    }

    /// The wish as JSON.
    var json: String {
        get throws(PollerError) {
            let hasLimit = rate != nil || burst != nil || concurrency != nil
            let wire = Wire(
                account: account,
                url: url,
                types: types,
                sources: sources,
                metadata: metadata,
                finalOnly: finalOnly,
                coalesce: coalesces,
                retry: retry.map(Retry.init(words:)),
                timeout: timeout.map(\.spanText),
                limit: hasLimit
                    ? Limit(rate: rate, burst: burst, concurrency: concurrency) : nil,
                headers: headers,
                payload: payload,
                notifyBy: notifyBy.map {
                    Fallback(within: $0.within.spanText, endpoint: $0.fallback)
                }
            )
            do {
                return String(
                    decoding: try PollerClient.encoder().encode(wire),
                    as: UTF8.self
                )
            } catch {
                throw .invalidConfiguration("the request cannot be written as JSON: \(error)")
            }
        }
    }

    private struct Limit: Encodable {
        let rate: Double?
        let burst: Int?
        let concurrency: Int?
    }

    private struct Fallback: Encodable {
        let within: String
        let endpoint: String
    }

    /// One word that is no span is a name.
    private struct Retry: Encodable {
        let words: [String]

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            if let word = words.first, words.count == 1, word.first?.isNumber == false {
                try container.encode(word)
            } else {
                try container.encode(words)
            }
        }
    }

    private struct Wire: Encodable {
        let account: String?
        let url: String?
        let types: [String]?
        let sources: [String]?
        let metadata: [String: String]?
        let finalOnly: Bool?
        let coalesce: Bool?
        let retry: Retry?
        let timeout: String?
        let limit: Limit?
        let headers: [String: String]?
        let payload: String?
        let notifyBy: Fallback?

        enum CodingKeys: String, CodingKey {
            case account, url, types, sources, metadata, coalesce, retry, timeout, limit, headers
            case payload
            case finalOnly = "final_only"
            case notifyBy = "notify_by"
        }
    }
}
