#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
