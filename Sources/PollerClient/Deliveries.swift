import NIOHTTP1
public import PollerWire

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PollerClient {
    /// Returns a page of deliveries.
    ///
    /// - `endpoint`: only those to this endpoint.
    /// - `source`: only those of this source.
    /// - `state`: `waiting`, `in_flight`, `failing`, `dead` or `done`.
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the previous page.
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
        return try Page(answer)
    }

    /// Reads a delivery.
    public func delivery(_ id: String) async throws -> Received<Delivery> {
        try await send(.GET, Self.path(ofDelivery: id)).received("a delivery")
    }

    /// Returns the newest attempts of a delivery, in chronological order.
    public func attempts(of id: String) async throws -> [Received<DeliveryAttempt>] {
        let answer = try await send(.GET, Self.path(ofDelivery: id) + "/attempts")
        return try Page(answer).items
    }

    /// Attempts a delivery now, and sends its dead letters again with the same event ids.
    @discardableResult
    public func retry(delivery id: String) async throws -> Received<Delivery> {
        try await send(.POST, Self.path(ofDelivery: id) + "/retry").received("a delivery")
    }

    /// Dismisses the dead letters of a delivery.
    ///
    /// It is no longer listed as dead, and a retry does not send them.
    @discardableResult
    public func dismiss(delivery id: String) async throws -> Received<Delivery> {
        try await send(.POST, Self.path(ofDelivery: id) + "/dismiss").received("a delivery")
    }

    /// Starts a replay of an endpoint's dead letters or of all its events.
    ///
    /// - `choice`: the events to send. ``Replay/Choice/all`` needs `since`.
    /// - `since`: only events recorded since.
    /// - `rate`: deliveries a second, 1–10,000, or `nil` for the server's default.
    /// - `isDryRun`: only count.
    /// - `idempotencyKey`: any number of calls with the same key start one replay.
    @discardableResult
    public func replay(
        endpoint id: String,
        _ choice: Replay.Choice = .dead,
        since: Date? = nil,
        rate: Int? = nil,
        isDryRun: Bool = false,
        idempotencyKey: String? = nil
    ) async throws -> Received<Replay> {
        var request = ReplayRequest()
        request.status = Open(choice)
        request.since = since.map(Time.init)
        request.rate = rate
        request.isDryRun = isDryRun
        return try await send(
            .POST,
            Self.path(ofReplay: id),
            body: request.json,
            idempotencyKey: idempotencyKey
        ).received("a replay")
    }

    /// Returns the progress of the last replay of an endpoint.
    public func replay(endpoint id: String) async throws -> Received<Replay> {
        try await send(.GET, Self.path(ofReplay: id)).received("a replay")
    }

    private static func path(ofDelivery id: String) -> String {
        "/v1/deliveries/\(percentEncoded(id))"
    }

    private static func path(ofReplay id: String) -> String {
        "/v1/endpoints/\(percentEncoded(id))/replay"
    }
}

extension Received<Delivery> {
    /// The state of the endpoint's circuit, or `nil` if the server did not send it.
    ///
    /// `closed` is normal operation, `open` allows no attempts, and `probing` allows one attempt at a time.
    public var circuit: String? { value.endpointHealth?.circuit.rawValue }
    /// The time until which the endpoint gets no attempts.
    public var heldUntil: Date? { value.endpointHealth?.heldUntil?.date }
}
