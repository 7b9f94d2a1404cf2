#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The watches that share one upstream limit, as they stand right now.
public struct Lane: Hashable, Sendable {
    /// `ACCOUNT/ENDPOINT`, such as `default/sources`.
    public let id: String
    /// `paused`, `open`, `probing`, `held`, `slowed` or `flowing`: what holds it up most.
    public let state: String
    /// Watches that wait for their due time or for the lane.
    public let waiting: Int
    /// Of those, due already.
    public let overdue: Int
    /// How long the longest overdue one has been due.
    public let overdueFor: Duration
    /// Polls in flight.
    public let inFlight: Int
    /// The limit that holds, its own or the default.
    public let limit: Limit
    /// Whether a person has stopped it.
    public let isPaused: Bool
    /// Nothing goes out before; nil when nothing holds it.
    public let heldUntil: Date?
    /// What is left of the limit after a 429, up to 1.
    public let factor: Double
    /// Polls in a row without an answer.
    public let failures: Int
    /// `closed`, `open` or `probing`.
    public let circuit: String
    /// The lane as the server sent it.
    public let json: String

    /// What a lane allows.
    public struct Limit: Hashable, Sendable, Decodable {
        /// Polls a second; 0 is no limit.
        public let rate: Double
        /// Polls that may follow each other at once.
        public let burst: Int
        /// Polls in flight at once.
        public let concurrency: Int
        /// Whether the lane has no limit of its own.
        public let isDefault: Bool

        enum CodingKeys: String, CodingKey {
            case rate, burst, concurrency
            case isDefault = "default"
        }
    }

    /// Reads a lane; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)) else {
            return nil
        }
        id = wire.id
        state = wire.state
        waiting = wire.waiting
        overdue = wire.overdue
        overdueFor = .milliseconds(wire.overdueMs)
        inFlight = wire.inFlight
        limit = wire.limit
        isPaused = wire.paused
        heldUntil = wire.heldUntil.flatMap(Date.init(wireTime:))
        factor = wire.factor
        failures = wire.failures
        circuit = wire.circuit
        self.json = json
    }

    private struct Wire: Decodable {
        let id: String
        let state: String
        let waiting: Int
        let overdue: Int
        let overdueMs: Int
        let inFlight: Int
        let limit: Limit
        let paused: Bool
        let heldUntil: String?
        let factor: Double
        let failures: Int
        let circuit: String

        enum CodingKeys: String, CodingKey {
            case id, state, waiting, overdue, limit, paused, factor, failures, circuit
            case overdueMs = "overdue_ms"
            case inFlight = "in_flight"
            case heldUntil = "held_until"
        }
    }
}
