/// What one endpoint still has to be told about one source: a cursor into the watch's log.
package struct Delivery: Hashable, Sendable {
    package let endpoint: EndpointID
    /// Of an inline `notify`; nil for a registered endpoint, of which the registry tells the rest.
    package let url: NotifyURL?
    package let watch: WatchKey
    package let state: DeliveryState

    /// Puts a delivery together, as a store does.
    package init(endpoint: EndpointID, url: NotifyURL?, watch: WatchKey, state: DeliveryState) {
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
