import Poller

/// What one claim has taken so far, and what it may still take.
///
/// An item that ended several holders is handed out in small company, then alone, so that the
/// guilty one is found. One that may not be taken now keeps its place: it blocks its wheel until
/// a claim that begins with it.
struct ClaimHand: Sendable {
    /// A wheel of a lane.
    struct WheelID: Hashable, Sendable {
        let lane: LaneID
        let isUrgent: Bool
    }

    let request: ClaimRequest
    let now: Timestamp
    private(set) var leases: [Lease<ItemID>] = []
    /// Wheels whose earliest item must wait for another claim.
    private(set) var blocked: Set<WheelID> = []
    private var placesMax: Int

    /// Nothing yet.
    init(_ request: ClaimRequest, now: Timestamp) {
        self.request = request
        self.now = now
        placesMax = min(max(request.limit, 1), 1024)
    }

    /// Items that may still be taken.
    var room: Int { max(0, placesMax - leases.count) }

    /// The latest start of an item that is taken.
    var horizon: Timestamp { now + request.ahead }

    /// Whether an item may be taken in this company.
    func admits(crashes: Int) -> Bool {
        if crashes >= Lease<ItemID>.aloneAt { return leases.isEmpty }
        if crashes >= Lease<ItemID>.suspectAt { return leases.count < Lease<ItemID>.suspectsMax }
        return true
    }

    /// Takes an item, and no more company than it may have.
    mutating func take(_ lease: Lease<ItemID>, countsCrashes: Bool) {
        leases.append(lease)
        guard countsCrashes else { return }
        if lease.crashes >= Lease<ItemID>.aloneAt {
            placesMax = 1
        } else if lease.crashes >= Lease<ItemID>.suspectAt {
            placesMax = min(placesMax, Lease<ItemID>.suspectsMax)
        }
    }

    /// Leaves a wheel's earliest item, and so all behind it, for another claim.
    mutating func leave(_ wheel: WheelID) {
        blocked.insert(wheel)
    }
}
