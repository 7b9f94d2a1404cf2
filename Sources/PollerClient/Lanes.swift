import NIOHTTP1

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PollerClient {
    /// A page of lanes, what holds things up first.
    ///
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the page before.
    public func lanes(limit: Int = 100, cursor: String? = nil) async throws -> Page<Lane> {
        let query: [(String, String?)] = [("limit", String(limit)), ("cursor", cursor)]
        return try Page(try await send(.GET, "/v1/lanes", query: query), Lane.init(json:))
    }

    /// Reads a lane such as `default/sources`.
    public func lane(_ id: String) async throws -> Lane {
        try Self.lane(try await send(.GET, Self.path(ofLane: id)))
    }

    /// Polls nothing more of a lane until it is resumed; what is in flight goes on.
    @discardableResult
    public func pause(lane id: String) async throws -> Lane {
        try Self.lane(try await send(.POST, Self.path(ofLane: id) + "/pause"))
    }

    /// Lets a paused lane go on; also ends a hold and closes its circuit.
    @discardableResult
    public func resume(lane id: String) async throws -> Lane {
        try Self.lane(try await send(.POST, Self.path(ofLane: id) + "/resume"))
    }

    /// Gives a lane a limit of its own; what is nil stays as it is.
    ///
    /// - `rate`: polls a second, 0 for no limit.
    /// - `burst`: polls that may follow each other at once; within any second there are at most
    ///   rate + burst.
    /// - `concurrency`: polls in flight at once.
    @discardableResult
    public func limit(
        lane id: String,
        rate: Double? = nil,
        burst: Int? = nil,
        concurrency: Int? = nil
    ) async throws -> Lane {
        let change = LimitChange(rate: rate, burst: burst, concurrency: concurrency)
        return try await limit(id, change)
    }

    /// Gives a lane the default limit again.
    @discardableResult
    public func useDefaultLimit(lane id: String) async throws -> Lane {
        try await limit(id, LimitChange(isDefault: true))
    }

    private func limit(_ id: String, _ change: LimitChange) async throws -> Lane {
        let body: String
        do {
            body = String(decoding: try Self.encoder().encode(change), as: UTF8.self)
        } catch {
            throw PollerError.invalidConfiguration("a limit must be a finite number")
        }
        return try Self.lane(try await send(.POST, Self.path(ofLane: id) + "/limit", body: body))
    }

    private static func path(ofLane id: String) -> String { "/v1/lanes/\(percentEncoded(id))" }

    private static func lane(_ answer: Answer) throws(PollerError) -> Lane {
        guard let lane = Lane(json: answer.text) else {
            throw .unintelligible(
                "the answer is not a lane: check the URL and the server's version"
            )
        }
        return lane
    }

    /// The body of a change of a lane's limit.
    private struct LimitChange: Encodable {
        var rate: Double?
        var burst: Int?
        var concurrency: Int?
        var isDefault: Bool?

        enum CodingKeys: String, CodingKey {
            case rate, burst, concurrency
            case isDefault = "default"
        }
    }
}

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
