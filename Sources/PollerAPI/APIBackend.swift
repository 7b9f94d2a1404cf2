package import Poller

/// What the routes work on: the seams of `Poller`, whatever stands behind them.
package struct APIBackend: Sendable {
    package let watches: any WatchStore
    package let deliveries: any DeliveryQueue
    package let outbox: any Outbox
    package let feed: any EventFeed
    package let checks: [any HealthCheck]

    /// Puts a backend together.
    ///
    /// `feed`: wakes long polls; when it does not run, they answer at their timeout.
    package init(
        watches: any WatchStore,
        deliveries: any DeliveryQueue,
        outbox: any Outbox,
        feed: any EventFeed,
        checks: [any HealthCheck] = []
    ) {
        self.watches = watches
        self.deliveries = deliveries
        self.outbox = outbox
        self.feed = feed
        self.checks = checks
    }
}

/// A ``LiveFeed`` whatever its store and clock.
package protocol EventFeed: Sendable {
    /// What is recorded from now on and matches; see ``LiveFeed/listen(bufferMax:matching:)``.
    func listen(
        bufferMax: Int,
        matching matches: @escaping @Sendable (OutboxEntry) -> Bool
    ) -> AsyncStream<FeedItem>
}

extension LiveFeed: EventFeed {}
