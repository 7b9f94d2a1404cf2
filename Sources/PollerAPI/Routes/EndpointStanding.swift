import Poller
import PollerIdentity
import PollerQueue
import PollerWire

// How endpoints stand, for those who look at them or at their deliveries.

extension LaneControl {
    /// Endpoints of a page that are looked at: what waits in a page waits for a few.
    private static var lookedAtMax: Int { 100 }

    /// Those of some endpoints that nothing goes out to now, with how they stand.
    func stopped(_ endpoints: Set<EndpointID>) async throws -> [EndpointID: LaneReport] {
        let some = endpoints.sorted { "\($0)" < "\($1)" }.prefix(Self.lookedAtMax)
        return try await withThrowingTaskGroup(of: (EndpointID, LaneReport?).self) { group in
            for endpoint in some {
                // A page at most, on one connection.
                group.addTask { (endpoint, try await self.lane(LaneID(endpoint: endpoint))) }
            }
            return try await group.reduce(into: [:]) { found, one in
                let isStopped = one.1.map {
                    $0.isPaused || $0.heldYet != nil || $0.circuit != .closed
                }
                if isStopped == true { found[one.0] = one.1 }
            }
        }
    }
}

extension EndpointStore {
    /// Endpoints of a page for which names are read: one read each, and a page of deliveries has few endpoints.
    private static var namedMax: Int { 100 }

    /// The names of some endpoints, by ID; those without a name are missing.
    ///
    /// An endpoint that cannot be read has no name here, because a list that only shows names must not fail for it.
    func names(of endpoints: Set<EndpointID>) async -> [EndpointID: String] {
        let some = endpoints.sorted { "\($0)" < "\($1)" }.prefix(Self.namedMax)
        return await withTaskGroup(of: (EndpointID, String?).self) { group in
            for endpoint in some {
                group.addTask { (endpoint, try? await self.read(endpoint)?.endpoint.name) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }
}

extension DeliveryBook where Self: LaneControl {
    /// Deliveries with events given up that are counted: two reads of a hundred each, or three.
    private static var deadMax: Int { 500 }

    /// How an endpoint takes what it is sent, and what of that was given up; nil where there is nothing to
    /// tell.
    ///
    /// *Cost*: a read of its lane and of the newest in quarantine of its partition, and one or two
    /// deliveries where something is wrong.
    func health(of endpoint: EndpointID) async throws -> PollerWire.EndpointHealth? {
        let lane = try await lane(LaneID(endpoint: endpoint))
        let found = try await deadLetters(of: endpoint, limit: Self.deadMax)
        let dead = found.endpoints[endpoint]
        guard lane != nil || dead != nil else { return nil }
        var health = lane.map { PollerWire.EndpointHealth($0) } ?? PollerWire.EndpointHealth()
        health.dead = dead?.count ?? 0
        if lane?.failingSince != nil {
            let query = DeliveryQuery(endpoint: endpoint, state: .failing, limit: 1)
            health.lastError = try await deliveries(query).items.first?.lastError
        }
        if health.lastError == nil, let newest = dead?.newest {
            health.lastError = try await delivery(newest)?.lastError
        }
        return health
    }
}
