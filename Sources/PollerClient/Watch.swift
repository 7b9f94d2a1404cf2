#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
