package import PollerIdentity
package import PollerQueue

/// A mark: an endpoint has a pending event of a watch.
package struct DeliveryMark: Hashable, Sendable {
    package let endpoint: EndpointID
    /// The inline `notify` URL; `nil` for a registered endpoint.
    package let url: NotifyURL?
    package let watch: WatchKey
    /// An event that is sent even if the endpoint does not subscribe to it; `nil` for none.
    package let forcedSeq: Int?
    /// Whether it is served before events for many recipients and before retries.
    package let isUrgent: Bool

    /// Creates the mark of an inline URL, which is an endpoint under the watch's account.
    package init(url: NotifyURL, watch: WatchKey) {
        endpoint = EndpointID(account: watch.account, url: url.description)
        self.url = url
        self.watch = watch
        forcedSeq = nil
        isUrgent = true
    }

    /// Creates the mark of a registered endpoint.
    package init(
        endpoint: EndpointID,
        watch: WatchKey,
        forcedSeq: Int? = nil,
        isUrgent: Bool = true
    ) {
        self.endpoint = endpoint
        url = nil
        self.watch = watch
        self.forcedSeq = forcedSeq
        self.isUrgent = isUrgent
    }

    /// Hashes the fields that differ most; equality compares the rest.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(endpoint)
        hasher.combine(watch.source)
    }
}

/// A store that takes the marks of deliveries.
package protocol DeliveryMarker: Sendable {
    /// Makes deliveries due now because their watch has a new event; idempotent.
    ///
    /// A mark that names an event needs a delivery that is not leased: `unavailable` until then.
    func mark(_ deliveries: [DeliveryMark]) async throws(StoreError)
}
