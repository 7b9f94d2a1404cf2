/// What one endpoint still has to be told about one source: a cursor into the watch's log.
package struct Delivery: Hashable, Sendable {
    package let endpoint: EndpointID
    package let url: NotifyURL
    package let watch: WatchKey
    package let state: DeliveryState

    /// Puts a delivery together, as a store does.
    package init(endpoint: EndpointID, url: NotifyURL, watch: WatchKey, state: DeliveryState) {
        self.endpoint = endpoint
        self.url = url
        self.watch = watch
        self.state = state
    }

    /// The short key of the delivery of a source's events to an endpoint.
    package static func id(endpoint: EndpointID, watch: WatchKey) -> ItemID {
        ItemID(
            of: endpoint.description,
            watch.account.description,
            watch.kind.rawValue,
            watch.source.description
        )
    }
}

/// How far a delivery has come.
package struct DeliveryState: Hashable, Sendable {
    /// The `seq` of the last event that was accepted or given up; the next one is to be sent.
    package var cursor: Int
    /// Failed attempts of the event after the cursor.
    package var failures: Int
    /// Attempts ever made.
    package var attempts: Int
    /// When the schedule has the next attempt after a failure.
    ///
    /// One made earlier, because something new was recorded, uses nothing of the schedule when it
    /// fails too.
    package var retryAt: Timestamp?

    /// A state; by default that of a delivery nobody has tried.
    package init(
        cursor: Int = 0,
        failures: Int = 0,
        attempts: Int = 0,
        retryAt: Timestamp? = nil
    ) {
        self.cursor = cursor
        self.failures = failures
        self.attempts = attempts
        self.retryAt = retryAt
    }
}
