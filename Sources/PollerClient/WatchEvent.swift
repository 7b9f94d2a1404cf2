#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// One recorded change of one source.
public struct WatchEvent: Hashable, Sendable {
    /// The same on every channel: dedupe by it.
    public let id: String
    /// What happened: `source.chargeable`, `payment_intent.succeeded`, `watch.expired`.
    public let type: String
    /// The account at the upstream.
    public let account: String
    /// The upstream's id.
    public let source: String
    /// `source` or `payment_intent`.
    public let kind: String
    /// Gapless for each watch, from 1, over all its runs.
    public let seq: Int
    /// The run it happened in.
    public let run: Int
    /// The status before.
    public let previousStatus: String?
    /// The status now.
    public let status: String?
    /// The status cannot change any more: the payment has come to its end.
    public let isFinal: Bool
    /// Why the watch ended with this event; nil while it goes on.
    ///
    /// `settled`, `expired`, `cancelled`, `gone` or `dead`; no further event of this run follows.
    public let closedReason: String?
    /// When the upstream was asked.
    public let polledAt: Date
    /// The event as it goes over every channel, the upstream's `object` included.
    public let json: String

    /// Reads an event; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)),
            let polledAt = Date(wireTime: wire.observed.polledAt)
        else { return nil }
        id = wire.id
        type = wire.type
        account = wire.account
        source = wire.source
        kind = wire.kind
        seq = wire.seq
        run = wire.run
        previousStatus = wire.previousStatus
        status = wire.status
        isFinal = wire.final
        closedReason = wire.closedReason
        self.polledAt = polledAt
        self.json = json
    }

    private struct Wire: Decodable {
        let id: String
        let type: String
        let account: String
        let source: String
        let kind: String
        let seq: Int
        let run: Int
        let previousStatus: String?
        let status: String?
        let final: Bool
        let closedReason: String?
        let observed: Observed

        struct Observed: Decodable {
            let polledAt: String

            enum CodingKeys: String, CodingKey {
                case polledAt = "polled_at"
            }
        }

        enum CodingKeys: String, CodingKey {
            case id, type, account, source, kind, seq, run, status, final, observed
            case previousStatus = "previous_status"
            case closedReason = "closed_reason"
        }
    }
}
