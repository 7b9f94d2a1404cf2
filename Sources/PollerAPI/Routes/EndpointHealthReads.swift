import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerWire

// The health of endpoints, for their own representation and that of their deliveries.

extension LaneControl {
    /// The maximum number of endpoints read for a page, whose deliveries usually wait for a few.
    private static var endpointsReadMax: Int { 100 }

    /// Returns the endpoints among these whose deliveries are stopped, with their state.
    func stopped(_ endpoints: Set<EndpointID>) async throws -> [EndpointID: LaneReport] {
        let some = endpoints.sorted { "\($0)" < "\($1)" }.prefix(Self.endpointsReadMax)
        return try await withThrowingTaskGroup(of: (EndpointID, LaneReport?).self) { group in
            for endpoint in some {
                // At most one page, on one connection.
                group.addTask { (endpoint, try await self.lane(LaneID(endpoint: endpoint))) }
            }
            return try await group.reduce(into: [:]) { found, one in
                let isStopped = one.1.map {
                    $0.isPaused || $0.currentHoldEnd != nil || $0.circuit != .closed
                }
                if isStopped == true { found[one.0] = one.1 }
            }
        }
    }
}

extension EndpointStore {
    /// The maximum number of names read for a page, one read each.
    ///
    /// A page of deliveries has few endpoints.
    private static var namedMax: Int { 100 }

    /// Returns the names of these endpoints by ID, of the first 100 in the order of their IDs.
    ///
    /// An endpoint without a name is left out. So is one that cannot be read, because a list that only shows names must
    /// not fail for it.
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

extension DeliveryOperations where Self: LaneControl {
    /// The maximum number of deliveries with dead letters that are counted, in two or three reads.
    private static var deadMax: Int { 500 }

    /// Returns the health of an endpoint with its dead letters; `nil` if there is neither a lane nor a dead letter.
    ///
    /// *Cost*: a read of its lane and of the newest entries in its partition's quarantine, and one or two deliveries if
    /// there is a problem.
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
