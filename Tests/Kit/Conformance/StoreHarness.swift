package import Poller

/// A fresh, empty store under test and the hands that move its time.
package protocol StoreHarness: Sendable {
    /// The store of watches with its outbox.
    var watches: any WatchStore & Outbox { get }
    /// The queue of deliveries.
    var deliveries: any DeliveryQueue & DeliveryBook & MarkLedger { get }
    /// The registered endpoints.
    var endpoints: any EndpointStore { get }
    /// The lanes of the watches.
    var lanes: any LaneControl { get }
    /// The processes that have announced themselves.
    var members: any Membership { get }

    /// Lets time pass while processes live: moves the clock all of them read forward; it stands still
    /// otherwise.
    func advance(by duration: Duration) async throws

    /// Sets the clock of the store's server forward or back: no time passes.
    func step(by duration: Duration) async throws

    /// The partition a lane lives in, of watches and of deliveries alike.
    func partition(of lane: LaneID) -> Int

    /// What is wrong inside the stores, one sentence each; empty as long as they are sound.
    func audit() async throws -> [String]

    /// Whether the store can be made to lose its last writes.
    var canRewind: Bool { get }

    /// Remembers the store of watches as it is.
    func checkpoint() async throws

    /// Makes the store of watches forget all since the last checkpoint; the clock goes on.
    func rewind() async throws
}

/// A store that never loses anything.
extension StoreHarness {
    /// Endpoints there may be in its registry.
    package static var endpointsMax: Int { 300 }

    package var canRewind: Bool { false }

    package func checkpoint() async throws {}

    package func rewind() async throws {}
}
