package import Poller

/// A fresh, empty store under test and the hands that move its time.
package protocol StoreHarness: Sendable {
    /// The store of watches with its outbox.
    var watches: any WatchStore & Outbox { get }
    /// The queue of deliveries.
    var deliveries: any DeliveryQueue { get }

    /// Moves the clock both read forward; it stands still otherwise.
    func advance(by duration: Duration) async throws

    /// The partition a lane lives in, of watches and of deliveries alike.
    func partition(of lane: LaneID) -> Int
}
