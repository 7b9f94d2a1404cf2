/// The queue of deliveries: the same leases as for watches, one lane for each endpoint.
package protocol DeliveryQueue: LeaseQueue where Item == Delivery, Change == DeliveryChange {
    /// Makes deliveries due now because their watch has something new; idempotent.
    func mark(_ deliveries: [DeliveryMark]) async throws(StoreError)

    /// Counts for operators, over all partitions.
    func stats() async throws(StoreError) -> StoreStats
}

/// Says that an endpoint is to be told about a watch.
package struct DeliveryMark: Hashable, Sendable {
    package let url: NotifyURL
    package let watch: WatchKey

    /// Names the delivery to look at.
    package init(url: NotifyURL, watch: WatchKey) {
        self.url = url
        self.watch = watch
    }

    /// The endpoint that the URL is under the watch's account.
    package var endpoint: EndpointID {
        EndpointID(account: watch.account, url: url.description)
    }
}

/// What an attempt changes in a delivery.
package struct DeliveryChange: Hashable, Sendable {
    package let state: DeliveryState
    /// Why the attempt failed, for operators; nil clears it.
    package let lastError: String?

    /// Describes a change.
    package init(state: DeliveryState, lastError: String? = nil) {
        self.state = state
        self.lastError = lastError
    }
}
