package import PollerDeliveries

/// A ``LiveFeed`` with any store and clock.
package protocol EventFeed: Sendable {
    /// Subscribes to events recorded from now on; see ``LiveFeed/listen(bufferMax:to:)``.
    func listen(bufferMax: Int, to interest: Interest) -> AsyncStream<FeedItem>
}

extension LiveFeed: EventFeed {}
