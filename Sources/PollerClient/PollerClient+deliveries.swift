import NIOHTTP1

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PollerClient {
    /// A page of deliveries.
    ///
    /// - `endpoint`: only those to this endpoint.
    /// - `source`: only those about this source.
    /// - `state`: `waiting`, `in_flight`, `failing`, `dead` or `done`.
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the page before.
    public func deliveries(
        endpoint: String? = nil,
        source: WatchName? = nil,
        state: String? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) async throws -> Page<Delivery> {
        let query: [(String, String?)] = [
            ("endpoint", endpoint), ("source", source?.source), ("account", source?.account),
            ("kind", source?.kind), ("state", state), ("limit", String(limit)),
            ("cursor", cursor),
        ]
        let answer = try await send(.GET, "/v1/deliveries", query: query)
        return try Page(answer, Delivery.init(json:))
    }

    /// Reads a delivery.
    public func delivery(_ id: String) async throws -> Delivery {
        try Self.delivery(try await send(.GET, Self.path(ofDelivery: id)))
    }

    /// The newest attempts of a delivery, the oldest of them first.
    public func attempts(of id: String) async throws -> [DeliveryAttempt] {
        let answer = try await send(.GET, Self.path(ofDelivery: id) + "/attempts")
        return try Page(answer, DeliveryAttempt.init(json:)).items
    }

    /// Tries a delivery now, and sends what was given up again under the same event ids.
    @discardableResult
    public func retry(delivery id: String) async throws -> Delivery {
        try Self.delivery(try await send(.POST, Self.path(ofDelivery: id) + "/retry"))
    }

    /// Begins to send an endpoint again what it did not get, or everything.
    ///
    /// - `choice`: what is sent; ``Replay/Choice/all`` needs `since`.
    /// - `since`: only events recorded since.
    /// - `rate`: deliveries a second, 1–10,000; nil for the server's own.
    /// - `isDryRun`: only count.
    @discardableResult
    public func replay(
        endpoint id: String,
        _ choice: Replay.Choice = .dead,
        since: Date? = nil,
        rate: Int? = nil,
        isDryRun: Bool = false
    ) async throws -> Replay {
        let wish = ReplayWish(
            status: choice.rawValue,
            since: since?.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
            rate: rate,
            dryRun: isDryRun
        )
        let body: String
        do {
            body = String(decoding: try Self.encoder().encode(wish), as: UTF8.self)
        } catch {
            throw PollerError.invalidConfiguration("the wish cannot be written as JSON")
        }
        return try Self.replay(try await send(.POST, Self.path(ofReplay: id), body: body))
    }

    /// How the last replay of an endpoint stands.
    public func replay(endpoint id: String) async throws -> Replay {
        try Self.replay(try await send(.GET, Self.path(ofReplay: id)))
    }

    private static func path(ofDelivery id: String) -> String {
        "/v1/deliveries/\(percentEncoded(id))"
    }

    private static func path(ofReplay id: String) -> String {
        "/v1/endpoints/\(percentEncoded(id))/replay"
    }

    private static func delivery(_ answer: Answer) throws(PollerError) -> Delivery {
        guard let delivery = Delivery(json: answer.text) else {
            throw .unintelligible(
                "the answer is not a delivery: check the URL and the server's version"
            )
        }
        return delivery
    }

    private static func replay(_ answer: Answer) throws(PollerError) -> Replay {
        guard let replay = Replay(json: answer.text) else {
            throw .unintelligible(
                "the answer is not a replay: check the URL and the server's version"
            )
        }
        return replay
    }

    private struct ReplayWish: Encodable {
        let status: String
        let since: String?
        let rate: Int?
        let dryRun: Bool

        enum CodingKeys: String, CodingKey {
            case status, since, rate
            case dryRun = "dry_run"
        }
    }
}
