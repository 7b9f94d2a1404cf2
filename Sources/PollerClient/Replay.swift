#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
