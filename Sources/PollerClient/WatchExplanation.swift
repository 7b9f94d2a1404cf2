#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// When a watch is polled next and what it waits for.
public struct WatchExplanation: Hashable, Sendable {
    /// The upstream's id.
    public let source: String
    /// The account at the upstream.
    public let account: String
    /// `waiting`, `leased` or `closed`.
    public let place: String
    /// When it is due; nil unless it waits.
    public let dueAt: Date?
    /// Watches of its lane to be served before it; nil unless it waits.
    public let ahead: Int?
    /// Who has it in hand; nil unless it is leased.
    public let owner: String?
    /// When it can be polled at the earliest, as far as is known now.
    public let earliestPollAt: Date?
    /// What it waits for, one sentence each, the most important first.
    public let reasons: [String]
    /// Workers in a row that vanished with it in hand.
    public let crashes: Int
    /// The explanation as the server sent it, the lane included.
    public let json: String

    /// Reads an explanation; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)) else {
            return nil
        }
        source = wire.source
        account = wire.account
        place = wire.place
        dueAt = wire.dueAt.flatMap(Date.init(wireTime:))
        ahead = wire.ahead
        owner = wire.owner
        earliestPollAt = wire.earliestPollAt.flatMap(Date.init(wireTime:))
        reasons = wire.reasons
        crashes = wire.crashes
        self.json = json
    }

    private struct Wire: Decodable {
        let source: String
        let account: String
        let place: String
        let dueAt: String?
        let ahead: Int?
        let owner: String?
        let earliestPollAt: String?
        let reasons: [String]
        let crashes: Int

        enum CodingKeys: String, CodingKey {
            case source, account, place, ahead, owner, reasons, crashes
            case dueAt = "due_at"
            case earliestPollAt = "earliest_poll_at"
        }
    }
}
