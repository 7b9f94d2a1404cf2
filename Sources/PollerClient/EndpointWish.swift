#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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
