#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
