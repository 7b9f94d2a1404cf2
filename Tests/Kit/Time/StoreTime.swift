package import Poller

/// Where an in-memory store reads the time, as the Redis store reads Redis' clock.
package protocol StoreTime: Sendable {
    /// The store's clock.
    var now: Timestamp { get }
}
