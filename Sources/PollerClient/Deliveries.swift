import NIOHTTP1
public import PollerWire

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
        return try Page(answer)
    }

    /// Reads a delivery.
    public func delivery(_ id: String) async throws -> Received<Delivery> {
        try await send(.GET, Self.path(ofDelivery: id)).received("a delivery")
    }

    /// The newest attempts of a delivery, the oldest of them first.
    public func attempts(of id: String) async throws -> [Received<DeliveryAttempt>] {
        let answer = try await send(.GET, Self.path(ofDelivery: id) + "/attempts")
        return try Page(answer).items
    }

    /// Tries a delivery now, and sends what was given up again under the same event ids.
    @discardableResult
    public func retry(delivery id: String) async throws -> Received<Delivery> {
        try await send(.POST, Self.path(ofDelivery: id) + "/retry").received("a delivery")
    }

    /// Lets rest what a delivery has given up: it is no longer among the dead, and no retry sends it.
    @discardableResult
    public func dismiss(delivery id: String) async throws -> Received<Delivery> {
        try await send(.POST, Self.path(ofDelivery: id) + "/dismiss").received("a delivery")
    }

    /// Begins to send an endpoint again what it did not get, or everything.
    ///
    /// - `choice`: what is sent; ``Replay/Choice/all`` needs `since`.
    /// - `since`: only events recorded since.
    /// - `rate`: deliveries a second, 1–10,000; nil for the server's own.
    /// - `isDryRun`: only count.
    /// - `idempotencyKey`: of any number of calls with the same one, one begins a replay.
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

    /// How the last replay of an endpoint stands.
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
    /// Whether the endpoint as a whole is tried: `closed` as it should be, `open` not at all, `probing`
    /// by one attempt at a time; nil where the server did not say.
    public var circuit: String? { value.endpointHealth?.circuit.rawValue }
    /// The endpoint is left alone until then.
    public var heldUntil: Date? { value.endpointHealth?.heldUntil?.date }
}
