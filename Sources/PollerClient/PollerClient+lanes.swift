import NIOHTTP1

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
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
