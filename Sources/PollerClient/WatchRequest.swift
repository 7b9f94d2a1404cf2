import NIOHTTP1

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request to watch a source.
public struct WatchRequest: Hashable, Sendable {
    /// What to watch.
    public var name: WatchName
    /// Where the source of a configured upstream is, in place of its id.
    public var url: String?
    /// `interactive`, `standard` or `patient`; nil is the server's choice.
    public var policy: String?
    /// How far to follow: `left_pending`, `settled` or `final`; nil is `settled`.
    public var until: String?
    /// The span to the deadline, 1 s to 90 days; nil is what its kind lives for.
    public var timeout: Duration?
    /// Where to tell: `https://…`, `mailto:…`, `redis+stream:NAME`; at most 16.
    public var notify: [String]
    /// The source's own secret, where the server polls with a publishable key.
    public var clientSecret: String?
    /// Your own names and values, repeated in the watch; at most 4,096 bytes as JSON.
    public var metadata: [String: String]
    /// What to charge, exactly once, when the source becomes chargeable; nil charges nothing.
    public var charge: WatchCharge?

    /// Describes what to watch.
    public init(
        _ name: WatchName,
        policy: String? = nil,
        until: String? = nil,
        timeout: Duration? = nil,
        notify: [String] = [],
        clientSecret: String? = nil,
        metadata: [String: String] = [:],
        charge: WatchCharge? = nil
    ) {
        self.name = name
        self.policy = policy
        self.until = until
        self.timeout = timeout
        self.notify = notify
        self.clientSecret = clientSecret
        self.metadata = metadata
        self.charge = charge
    }

    /// Describes what to watch under the default account.
    public init(source: String, policy: String? = nil, timeout: Duration? = nil) {
        self.init(WatchName(source), policy: policy, timeout: timeout)
    }

    /// Describes what to watch by its URL, which must be one of an upstream that the server is
    /// configured with.
    public init(url: String, account: String? = nil) {
        self.init(WatchName("", account: account, kind: "http"))
        self.url = url
    }

    /// The request as one line of JSON.
    func line(_ encoder: JSONEncoder) throws(PollerError) -> String {
        let wire = Wire(
            source: name.source.isEmpty ? nil : name.source,
            account: name.account,
            kind: name.kind,
            url: url,
            policy: policy,
            until: until,
            timeout: timeout.map(\.spanText),
            notify: notify.isEmpty ? nil : notify,
            clientSecret: clientSecret,
            metadata: metadata.isEmpty ? nil : metadata,
            charge: charge
        )
        do {
            return String(decoding: try encoder.encode(wire), as: UTF8.self)
        } catch {
            throw .invalidConfiguration("the request cannot be written as JSON: \(error)")
        }
    }

    private struct Wire: Encodable {
        let source: String?
        let account: String?
        let kind: String?
        let url: String?
        let policy: String?
        let until: String?
        let timeout: String?
        let notify: [String]?
        let clientSecret: String?
        let metadata: [String: String]?
        let charge: WatchCharge?

        enum CodingKeys: String, CodingKey {
            case source, account, kind, url, policy, until, timeout, notify, metadata, charge
            case clientSecret = "client_secret"
        }
    }
}

extension Duration {
    /// The span as the API reads it, in whole milliseconds.
    var spanText: String {
        "\(components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)ms"
    }
}

/// What the cluster is to charge when a watched source becomes chargeable, exactly once.
///
/// *Units*: the amount in the currency's smallest unit. *Errors*: the server refuses it for anything but a
/// Stripe Source, and for amounts that are not positive.
public struct WatchCharge: Hashable, Sendable, Encodable {
    /// At most the source's own amount, which nil stands for.
    public var amount: Int?
    /// Three letters, lower case; the source's own when nil.
    public var currency: String?
    /// The charge's `description`: for people.
    public var note: String?
    /// The text on the customer's statement, at most 35 bytes.
    public var statementDescriptor: String?
    /// Kept with the charge, at most 49 entries.
    public var metadata: [String: String]?
    /// Nothing is to be charged, whatever the server's account charges otherwise.
    private var isNothing = false

    /// Not to be charged, whatever the server's account charges otherwise.
    public static let nothing: WatchCharge = {
        var charge = WatchCharge()
        charge.isNothing = true
        return charge
    }()

    /// The source's whole amount.
    public static let whole = WatchCharge()

    /// Describes a charge.
    public init(
        amount: Int? = nil,
        currency: String? = nil,
        note: String? = nil,
        statementDescriptor: String? = nil,
        metadata: [String: String]? = nil
    ) {
        self.amount = amount
        self.currency = currency
        self.note = note
        self.statementDescriptor = statementDescriptor
        self.metadata = metadata
    }

    private enum CodingKeys: String, CodingKey {
        case amount, currency, metadata
        case note = "description"
        case statementDescriptor = "statement_descriptor"
    }

    /// Writes the charge as the API reads it.
    public func encode(to encoder: any Encoder) throws {
        guard !isNothing else {
            var value = encoder.singleValueContainer()
            return try value.encode(false)
        }
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encodeIfPresent(amount, forKey: .amount)
        try fields.encodeIfPresent(currency, forKey: .currency)
        try fields.encodeIfPresent(note, forKey: .note)
        try fields.encodeIfPresent(statementDescriptor, forKey: .statementDescriptor)
        try fields.encodeIfPresent(metadata, forKey: .metadata)
    }
}

extension PollerClient {
    /// Items and bytes of one request: far below the server's 10,000 and 8 MiB, so that progress
    /// shows and a lost answer costs little.
    private static let partCountMax = 2000
    private static let partBytesMax = 2_097_152
    /// Tries of one part before the whole is given up.
    private static let triesMax = 5

    /// Watches many sources, in parts; equal requests count once within a part.
    ///
    /// A part with a wrong item enqueues nothing and ends the whole with the server's problem,
    /// whose items count from the first request given here; parts before it are enqueued then.
    /// A part without an answer is sent again, which is safe.
    ///
    /// `progress`: told how many requests have been accepted so far.
    public func enqueue(
        _ requests: [WatchRequest],
        progress: @Sendable (Int) -> Void = { _ in }
    ) async throws -> BatchResult {
        let encoder = Self.encoder()
        var total = BatchResult()
        var start = 0
        while start < requests.count {
            var body = ""
            var end = start
            while end < requests.count, end - start < Self.partCountMax,
                body.utf8.count < Self.partBytesMax
            {
                body += try requests[end].line(encoder) + "\n"
                end += 1
            }
            do {
                total += try await enqueuePart(body, isFirst: start == 0)
            } catch PollerError.problem(let problem) {
                throw PollerError.problem(problem.moved(by: start))
            }
            start = end
            progress(end)
        }
        return total
    }

    private func enqueuePart(_ body: String, isFirst: Bool) async throws -> BatchResult {
        var backoff = Backoff()
        while true {
            do {
                let answer = try await send(
                    .POST,
                    "/v1/watches/batch",
                    body: body,
                    type: "application/x-ndjson",
                    // A part may take longer than a usual answer when the store is busy.
                    wait: .seconds(45)
                )
                return try answer.decoded(BatchResult.self)
            } catch let error as PollerError where error.isTransient {
                // A server that cannot be reached is reported at once.
                if case .unreachable = error, isFirst { throw error }
                guard backoff.failures + 1 < Self.triesMax else { throw error }
                try await backoff.sleep(atLeast: error.retryAfter)
            }
        }
    }

    /// Names in order, so that equal requests are equal bytes.
    static func encoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

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
